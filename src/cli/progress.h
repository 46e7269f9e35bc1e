// What a tuning run says on stderr: a bar with the time left on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include "tune/tune.h"

namespace hgemm::cli {

class Progress : public TuneListener {
 public:
  /// `names_regimes`: where it is not plain from the command which one is measured.
  Progress(std::FILE* out, bool names_regimes);
  ~Progress() override;  ///< leaves the terminal's cursor on an empty line

  /// Of the kernels that compiling() is about to count, one more was there already.
  void found_in_cache() { ++from_cache_; }

  void compiling(int done, int total, int failed) override;
  void shape_started(const Shape& shape, Regime regime, int index, int count,
                     int candidates) override;
  void preparing(int done, int total) override;
  void racing(int round, int alive, const std::string& leader, double ratio_cublas) override;
  void weighing(int done, int total) override;
  void shape_finished(const Shape& shape) override;
  void warning(const std::string& text) override;

 private:
  using Clock = std::chrono::steady_clock;

  /// `fraction` of the current phase (compiling, or all shapes) that is done.
  void show(double fraction, const std::string& text);
  /// `part` of the current shape that is done.
  void show_shape(double part, const std::string& text);
  void line(const std::string& text);

  std::FILE* out_;
  bool terminal_;
  bool names_regimes_;
  Clock::time_point phase_start_;
  Clock::time_point last_shown_;
  bool compiling_ = false;
  int from_cache_ = 0;
  bool racing_shapes_ = false;
  Clock::time_point shape_start_;
  int shape_index_ = 0;
  int shape_count_ = 1;
  std::string shape_name_;  ///< with its regime if that is to be said
  double raced_part_ = 0;   ///< of the current shape, when its last round ended
  std::string standing_;    ///< who leads the current shape
};

}  // namespace hgemm::cli
