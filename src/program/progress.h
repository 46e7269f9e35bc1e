// Progress of a tuning run on stderr. On a terminal, the last lines of the screen show what is
// being compiled and raced, with a bar and the time left. Above them is a line for each finished
// shape, with its best so far. Elsewhere the output is plain lines.
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
  /// deadline, the time left is the time until then; without one, it is estimated.
  Progress(std::FILE* out, bool names_regimes, std::optional<Clock::time_point> deadline = {});
  ~Progress() override;  ///< leaves the terminal's cursor on an empty line

  void compiling(const Compiling& compiling) override;
  void race_started(const GemmProblem& problem, Regime regime, int index, int count,
                    int candidates) override;
  void preparing(int done, int total) override;
  void measuring(int done, int total) override;
  void racing(int round, int alive, const std::string& leader, double ratio_cublas) override;
  void weighing(int done, int total) override;
  void race_finished(const GemmProblem& problem) override;
  void warning(const std::string& text) override;
  void advanced(double share) override { advanced_ = share; }

 private:
  /// Redraws the status, unless that was done a moment ago.
  void show();
  std::vector<std::string> status_lines() const;
  std::string compiling_line() const;  ///< empty: nothing is being compiled
  std::string racing_line() const;
  std::string time_left(double fraction, Clock::time_point since) const;
  std::string bar(double fraction, const std::string& left) const;
  void erase();
  void line(const std::string& text);

  void show_shape(const std::string& text);

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
  Clock::time_point shape_start_;
  int shape_index_ = 0;
  int shape_count_ = 1;
  std::string shape_name_;  ///< with the regime if names_regimes_
  int rounds_ = 0;          ///< ended rounds of the shape's race
  std::string doing_;       ///< the current step of the race
  std::string standing_;    ///< the leader of the race
};

}  // namespace hgemm::cli
