// What a tuning run says on stderr: a bar with the time left on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include "tune/tune.h"

namespace hgemm::cli {

class Progress : public TuneListener {
 public:
  explicit Progress(std::FILE* out);
  ~Progress() override;  ///< leaves the terminal's cursor on an empty line

  void compiling(int done, int total, int failed) override;
  void shape_started(const Shape& shape, int index, int count, int candidates) override;
  void preparing(int done, int total) override;
  void racing(int round, int alive, const std::string& leader, double ratio_cublas) override;
  void shape_finished(const Shape& shape) override;
  void warning(const std::string& text) override;

 private:
  using Clock = std::chrono::steady_clock;

  /// `fraction` of the current phase (compiling, or all shapes) that is done.
  void show(double fraction, const std::string& text);
  void line(const std::string& text);

  std::FILE* out_;
  bool terminal_;
  Clock::time_point phase_start_;
  Clock::time_point last_shown_;
  bool compiling_ = false;
  bool racing_shapes_ = false;
  Clock::time_point shape_start_;
  int shape_index_ = 0;
  int shape_count_ = 1;
  std::string standing_;  ///< who leads the current shape
};

}  // namespace hgemm::cli
