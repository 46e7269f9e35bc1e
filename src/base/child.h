// A process that this program starts, talks to, and may have to kill.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/channel.h"

namespace hgemm {

/// Path of this executable, to run another subcommand of it.
inline constexpr const char* kThisProgram = "/proc/self/exe";

class Child {
 public:
  /// Time from SIGKILL to the end of the process: a worker with a hung kernel was gone after 0.1 s
  /// (H200, driver 580).
  static constexpr std::chrono::seconds kReapLimit{30};
  /// Time that a process has to exit by itself after its work is done.
  static constexpr std::chrono::milliseconds kGrace{5'000};
  /// Time from fork to the start of the program, which may have to be read from a slow disk.
  static constexpr std::chrono::seconds kStartLimit{60};

  /// Runs `command` (program, arguments) with one more argument: the number of an inherited socket,
  /// whose other end is channel(). The child inherits only that socket and the standard streams.
  /// Throws Error if the program cannot be run.
  ///
  /// The child is killed when the thread that started it ends (PR_SET_PDEATHSIG), so no child
  /// outlives this program, however this program dies. The child has its own process group: Ctrl-C
  /// in the terminal then ends only the parent, and does not look like a crash of the child.
  /// `environment`: variables as "NAME=value" that the child gets beside, or instead of, those of
  /// this process.
  explicit Child(std::vector<std::string> command, std::vector<std::string> environment = {});
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();  ///< kills and reaps

  Channel& channel() { return channel_; }

  void kill();  ///< SIGKILL; no effect if the process has ended

  /// Waits for the end and describes it: "exit code 3" or "killed by signal 11 (Segmentation
  /// fault)". A process that does not end within `grace` is killed; after kill() there is no grace.
  /// After SIGKILL this waits for at most kReapLimit: a process that is stuck in a driver does not
  /// end, and is left behind.
  std::string wait(std::chrono::milliseconds grace = kGrace);

 private:
  Child(std::vector<std::string> command, std::vector<std::string> environment,
        std::pair<Channel, Channel> ends);

  Channel channel_;
  pid_t pid_ = -1;       // -1 once reaped, or given up
  bool killed_ = false;  // by kill() or after the grace
  std::string end_;      // how it ended, once reaped
};

}  // namespace hgemm
