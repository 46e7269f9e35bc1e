// Progress of a tuning run on stderr. On a terminal, the last lines of the screen show what is
// being compiled and what each GPU races, with a bar and the time left. Above them is a line for
// each finished shape, with its best so far. Elsewhere the output is plain lines.
#pragma once

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "tune/tune.h"

namespace hgemm::cli {

class Progress : public TuneListener {
 public:
  using Clock = std::chrono::steady_clock;

  /// `names_regimes`: lines name the regime, because the command does not make it plain. With a
  /// deadline, the time left is the time until then; without one, it is estimated. Lines name the
  /// GPU if there are several.
  Progress(std::FILE* out, std::size_t gpus, bool names_regimes,
           std::optional<Clock::time_point> deadline = {});
  ~Progress() override;  ///< leaves the terminal's cursor on an empty line

  void compiling(const Compiling& compiling) override;
  void race_started(int gpu, const GemmProblem& problem, Regime regime, int index, int count,
                    int candidates) override;
  void preparing(int gpu, int done, int total) override;
  void measuring(int gpu, int done, int total) override;
  void racing(int gpu, int round, int alive, const std::string& leader,
              double ratio_cublas) override;
  void weighing(int gpu, int done, int total) override;
  void race_finished(int gpu, const GemmProblem& problem) override;
  void warning(const std::string& text) override;
  void advanced(double share) override { advanced_ = share; }

 private:
  /// Redraws the status, unless that was done a moment ago.
  void show();
  std::vector<std::string> status_lines() const;
  std::string compiling_line() const;  ///< empty: nothing is being compiled
  std::vector<std::string> racing_lines() const;
  std::string time_left(double fraction, Clock::time_point since) const;
  std::string bar(double fraction, const std::string& left) const;
  void erase();
  void line(const std::string& text);

  /// What a GPU does.
  struct Lane {
    Clock::time_point start;  ///< of its race
    int index = 0;            ///< of its race
    std::string shape;        ///< with the regime if names_regimes_
    int rounds = 0;           ///< ended rounds of its race
    std::string doing;        ///< the current step of its race; empty between races
    std::string standing;     ///< the leader of its race
  };
  Lane& lane(int gpu) { return lanes_.at(static_cast<std::size_t>(gpu)); }
  void show_step(int gpu, const std::string& text);
  std::string gpu_name(std::size_t gpu) const;  ///< "GPU 1: "; empty if there is one GPU

  std::FILE* out_;
  bool terminal_;
  bool names_regimes_;
  std::optional<Clock::time_point> deadline_;
  Clock::time_point last_shown_;
  int lines_on_screen_ = 0;  ///< lines that the next status replaces

  Compiling compiling_;
  Clock::time_point compiling_start_;

  bool racing_shapes_ = false;
  double advanced_ = 0;  ///< finished share of all the races' time
  Clock::time_point racing_start_;
  int shape_count_ = 1;
  int shapes_finished_ = 0;
  std::vector<Lane> lanes_;  ///< by GPU
};

}  // namespace hgemm::cli
