#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace hgemm::cli {
namespace {

constexpr int kBarWidth = 20;
constexpr std::chrono::milliseconds kTerminalInterval{100};
constexpr std::chrono::seconds kPlainInterval{5};
/// Share of a shape's time that goes into making its candidates ready; the rest is racing. Only the
/// estimate of the time left depends on it.
constexpr double kPreparingShare = 0.4;
/// Rounds after which half of the racing is thought to be over.
constexpr double kHalfRaceRounds = 6;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string minutes(double seconds) {
  const auto whole = static_cast<long>(std::lround(seconds));
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

Progress::Progress(std::FILE* out) : out_(out), terminal_(isatty(fileno(out)) == 1) {}

Progress::~Progress() {
  if (terminal_) fmt::print(out_, "\r\033[K");
}

void Progress::show(double fraction, const std::string& text) {
  const auto now = Clock::now();
  if (now - last_shown_ < (terminal_ ? kTerminalInterval : Clock::duration(kPlainInterval))) return;
  last_shown_ = now;
  const double elapsed = seconds_since(phase_start_);
  const std::string left =
      fraction > 0.02 ? minutes(elapsed * (1 - fraction) / fraction) + " left" : "";
  if (!terminal_) {
    fmt::print(out_, "{}{}{}\n", text, left.empty() ? "" : ", about ", left);
    return;
  }
  const auto filled = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * kBarWidth);
  fmt::print(out_, "\r\033[K[{:#<{}}{:.<{}}] {:>10}  {}", "", filled, "", kBarWidth - filled, left,
             text);
  std::fflush(out_);
}

void Progress::line(const std::string& text) {
  fmt::print(out_, "{}{}\n", terminal_ ? "\r\033[K" : "", text);
  last_shown_ = {};
}

void Progress::compiling(int done, int total, int failed) {
  if (!compiling_) {
    compiling_ = true;
    phase_start_ = Clock::now();
    last_shown_ = phase_start_;
  }
  const std::string failures = failed > 0 ? fmt::format(", {} failed", failed) : "";
  if (done < total) {
    show(static_cast<double>(done) / total,
         fmt::format("compiling {}/{}{}", done, total, failures));
  } else {
    line(fmt::format("compiled {} kernels in {:.1f} s{}", total, seconds_since(phase_start_),
                     failures));
    compiling_ = false;
  }
}

void Progress::shape_started(const Shape& shape, int index, int count, int candidates) {
  shape_start_ = Clock::now();
  if (!racing_shapes_) phase_start_ = shape_start_;
  racing_shapes_ = true;
  shape_index_ = index;
  shape_count_ = count;
  standing_.clear();
  const std::string tag = shape.tag.empty() ? "" : " " + shape.tag;
  line(fmt::format("shape {}/{}: {}{}, {} candidates", index + 1, count, to_string(shape), tag,
                   candidates));
}

void Progress::preparing(int done, int total) {
  const double part = total > 0 ? kPreparingShare * done / total : 0;
  show((shape_index_ + part) / shape_count_, fmt::format("verifying {}/{}", done, total));
}

void Progress::racing(int round, int alive, const std::string& leader, double ratio_cublas) {
  standing_ = fmt::format("{} at {:.3f}x cuBLAS", leader, ratio_cublas);
  const double raced = 1 - std::exp2(-round / kHalfRaceRounds);
  const double part = kPreparingShare + (1 - kPreparingShare) * raced;
  show((shape_index_ + part) / shape_count_,
       fmt::format("round {}, {} in the race, {}", round, alive, standing_));
}

void Progress::shape_finished(const Shape& shape) {
  line(fmt::format("shape {}/{}: {} finished in {:.1f} s{}{}", shape_index_ + 1, shape_count_,
                   to_string(shape), seconds_since(shape_start_), standing_.empty() ? "" : ", ",
                   standing_));
}

void Progress::warning(const std::string& text) { line("warning: " + text); }

}  // namespace hgemm::cli
