#include "program/progress.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/console.h"
#include "base/text.h"

namespace hgemm::cli {
namespace {

constexpr int kBarWidth = 20;
constexpr std::chrono::milliseconds kTerminalInterval{100};
constexpr std::chrono::seconds kPlainInterval{5};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string minutes(double seconds) {
  const auto whole = static_cast<long>(std::lround(seconds));
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

/// Width of the terminal in characters. A longer line would wrap and could not be replaced.
std::size_t columns(std::FILE* terminal) {
  winsize size{};
  const bool known = ioctl(fileno(terminal), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

}  // namespace

Progress::Progress(std::FILE* out, bool names_regimes, std::optional<Clock::time_point> deadline)
    : out_(out),
      terminal_(isatty(fileno(out)) == 1),
      names_regimes_(names_regimes),
      deadline_(deadline) {}

Progress::~Progress() { erase(); }

void Progress::erase() {
  if (!terminal_ || lines_on_screen_ == 0) return;
  write_to(out_, "\r\033[K");
  for (int i = 1; i < lines_on_screen_; ++i) write_to(out_, "\033[A\033[K");
  lines_on_screen_ = 0;
}

void Progress::show() {
  const auto now = Clock::now();
  if (now - last_shown_ < (terminal_ ? kTerminalInterval : Clock::duration(kPlainInterval))) return;
  last_shown_ = now;
  const std::vector<std::string> lines = status_lines();
  if (!terminal_) {
    for (const std::string& text : lines) write_to(out_, printable(text) + "\n");
    return;
  }
  erase();
  const std::size_t width = columns(out_) - 1;
  for (const std::string& text : lines) {
    if (lines_on_screen_++ > 0) write_to(out_, "\n");
    write_to(out_, printable(text.substr(0, width)));
  }
  std::fflush(out_);
}

std::vector<std::string> Progress::status_lines() const {
  std::vector<std::string> lines;
  for (const std::string& text : {compiling_line(), racing_line()}) {
    if (!text.empty()) lines.push_back(text);
  }
  return lines;
}

std::string Progress::compiling_line() const {
  const auto& [done, total, failed, from_cache] = compiling_;
  if (done == total) return "";
  const double fraction = static_cast<double>(done) / total;
  const std::string failures = failed > 0 ? fmt::format(", {} failed", failed) : "";
  const std::string text = fmt::format("compiling {}/{}{}", done, total, failures);
  // During races, only the races show a time left.
  const std::string left = racing_shapes_ ? "" : time_left(fraction, compiling_start_);
  if (terminal_) return bar(fraction, left) + text;
  return text + (left.empty() ? "" : ", about " + left);
}

std::string Progress::racing_line() const {
  if (!racing_shapes_ || doing_.empty()) return "";
  const std::string left = time_left(advanced_, racing_start_);
  if (!terminal_) return doing_ + (left.empty() ? "" : ", about " + left);
  return fmt::format("{}{}/{} {}: {}", bar(advanced_, left), shape_index_ + 1, shape_count_,
                     shape_name_, doing_);
}

std::string Progress::time_left(double fraction, Clock::time_point since) const {
  if (deadline_) return minutes(std::max(0.0, -seconds_since(*deadline_))) + " left";
  if (fraction <= 0.02) return "";
  return minutes(seconds_since(since) * (1 - fraction) / fraction) + " left";
}

std::string Progress::bar(double fraction, const std::string& left) const {
  const auto filled = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * kBarWidth);
  return fmt::format("[{:#<{}}{:.<{}}] {:>10}  ", "", filled, "", kBarWidth - filled, left);
}

void Progress::line(const std::string& text) {
  erase();
  write_to(out_, printable(text) + "\n");
  last_shown_ = {};
}

void Progress::compiling(const Compiling& compiling) {
  if (compiling_.done == compiling_.total) {
    compiling_start_ = Clock::now();
    last_shown_ = compiling_start_;
  }
  compiling_ = compiling;
  if (compiling.done < compiling.total) return show();
  line(fmt::format(
      "compiled {} kernels in {:.1f} s{}{}", compiling.total - compiling.from_cache,
      seconds_since(compiling_start_),
      compiling.from_cache > 0 ? fmt::format(", {} from the cache", compiling.from_cache) : "",
      compiling.failed > 0 ? fmt::format(", {} failed", compiling.failed) : ""));
}

void Progress::race_started(const GemmProblem& problem, Regime regime, int index, int count,
                            int candidates) {
  shape_start_ = Clock::now();
  if (!racing_shapes_) racing_start_ = shape_start_;
  racing_shapes_ = true;
  shape_index_ = index;
  shape_count_ = count;
  standing_.clear();
  doing_.clear();
  rounds_ = 0;
  shape_name_ = to_string(problem);
  if (names_regimes_) shape_name_ += fmt::format(" {}", to_string(regime));
  const std::string tag = problem.tag.empty() ? "" : " " + problem.tag;
  line(fmt::format("shape {}/{}: {}{}, {} candidates", index + 1, count, shape_name_, tag,
                   candidates));
}

void Progress::show_shape(const std::string& text) {
  doing_ = text;
  show();
}

void Progress::preparing(int done, int total) {
  show_shape(fmt::format("verifying {}/{}", done, total));
}

void Progress::measuring(int done, int total) {
  show_shape(fmt::format("round {}, {}/{} measured{}{}", rounds_ + 1, done, total,
                         standing_.empty() ? "" : ", ", standing_));
}

void Progress::racing(int round, int alive, const std::string& leader, double ratio_cublas) {
  standing_ = fmt::format("{} at {:.3f}x cuBLAS", leader, ratio_cublas);
  rounds_ = round;
  show_shape(fmt::format("round {}, {} in the race, {}", round, alive, standing_));
}

void Progress::weighing(int done, int total) {
  show_shape(fmt::format("energy {}/{}, {}", done, total, standing_));
}

void Progress::race_finished(const GemmProblem&) {
  doing_.clear();
  line(fmt::format("shape {}/{}: {} finished in {:.1f} s{}{}", shape_index_ + 1, shape_count_,
                   shape_name_, seconds_since(shape_start_), standing_.empty() ? "" : ", ",
                   standing_));
}

void Progress::warning(const std::string& text) { line("warning: " + text); }

}  // namespace hgemm::cli
