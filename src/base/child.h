// A process that this program starts, talks to and may have to kill.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/channel.h"

namespace hgemm {

/// This program, for running another subcommand of itself.
inline constexpr const char* kThisProgram = "/proc/self/exe";

class Child {
 public:
  /// From SIGKILL to its end: a worker with a hung kernel was gone in 0.1 s (H200, driver 580).
  static constexpr std::chrono::seconds kReapLimit{30};
  /// From the end of what it has to do to its end.
  static constexpr std::chrono::milliseconds kGrace{5'000};
  /// From fork to the program's start, which may have to be read from a slow disk.
  static constexpr std::chrono::seconds kStartLimit{60};

  /// Runs `command` (program, arguments) with one more argument: the number of an inherited socket,
  /// whose other end is channel(). Nothing else is inherited but standard streams. Throws Error if
  /// the program cannot be run.
  ///
  /// The child is killed when the thread that started it ends (PR_SET_PDEATHSIG), so that none
  /// outlives this program however it dies. It has a process group of its own: Ctrl-C in the
  /// terminal ends the parent, and must not look like a crash of the child.
  explicit Child(std::vector<std::string> command);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();  ///< kills and reaps

  Channel& channel() { return channel_; }

  void kill();  ///< SIGKILL; harmless if it has ended

  /// Waits for the end: "exit code 3" or "killed by signal 11 (Segmentation fault)". One that does
  /// not end by itself within `grace` is killed, and so is at once one that kill() was called for.
  /// After that no longer than kReapLimit: a process that is stuck in a driver does not end, and
  /// is left behind.
  std::string wait(std::chrono::milliseconds grace = kGrace);

 private:
  Child(std::vector<std::string> command, std::pair<Channel, Channel> ends);

  Channel channel_;
  pid_t pid_ = -1;       // -1 once reaped, or given up
  bool killed_ = false;  // by kill()
  std::string end_;      // how it ended, once reaped
};

}  // namespace hgemm
