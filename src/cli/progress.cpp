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
/// Share of a shape's time that goes into making its candidates ready; the rest is racing, and then
/// weighing if that was asked for. Only the estimate of the time left depends on it.
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

Progress::Progress(std::FILE* out, bool names_regimes)
    : out_(out), terminal_(isatty(fileno(out)) == 1), names_regimes_(names_regimes) {}

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

void Progress::show_shape(double part, const std::string& text) {
  show((shape_index_ + part) / shape_count_, text);
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
  const std::string cached = from_cache_ > 0 ? fmt::format(", {} from the cache", from_cache_) : "";
  const std::string failures = failed > 0 ? fmt::format(", {} failed", failed) : "";
  if (done < total) {
    show(static_cast<double>(done) / total,
         fmt::format("compiling {}/{}{}", done, total, failures));
  } else {
    line(fmt::format("compiled {} kernels in {:.1f} s{}{}", total - from_cache_,
                     seconds_since(phase_start_), cached, failures));
    from_cache_ = 0;
    compiling_ = false;
  }
}

void Progress::shape_started(const Shape& shape, Regime regime, int index, int count,
                             int candidates) {
  shape_start_ = Clock::now();
  if (!racing_shapes_) phase_start_ = shape_start_;
  racing_shapes_ = true;
  shape_index_ = index;
  shape_count_ = count;
  standing_.clear();
  raced_part_ = 0;
  shape_name_ = to_string(shape);
  if (names_regimes_) shape_name_ += fmt::format(" {}", to_string(regime));
  const std::string tag = shape.tag.empty() ? "" : " " + shape.tag;
  line(fmt::format("shape {}/{}: {}{}, {} candidates", index + 1, count, shape_name_, tag,
                   candidates));
}

void Progress::preparing(int done, int total) {
  show_shape(total > 0 ? kPreparingShare * done / total : 0,
             fmt::format("verifying {}/{}", done, total));
}

void Progress::racing(int round, int alive, const std::string& leader, double ratio_cublas) {
  standing_ = fmt::format("{} at {:.3f}x cuBLAS", leader, ratio_cublas);
  const double raced = 1 - std::exp2(-round / kHalfRaceRounds);
  raced_part_ = kPreparingShare + (1 - kPreparingShare) * raced;
  show_shape(raced_part_, fmt::format("round {}, {} in the race, {}", round, alive, standing_));
}

void Progress::weighing(int done, int total) {
  show_shape(total > 0 ? raced_part_ + (1 - raced_part_) * done / total : raced_part_,
             fmt::format("energy {}/{}, {}", done, total, standing_));
}

void Progress::shape_finished(const Shape&) {
  line(fmt::format("shape {}/{}: {} finished in {:.1f} s{}{}", shape_index_ + 1, shape_count_,
                   shape_name_, seconds_since(shape_start_), standing_.empty() ? "" : ", ",
                   standing_));
}

void Progress::warning(const std::string& text) { line("warning: " + text); }

}  // namespace hgemm::cli
