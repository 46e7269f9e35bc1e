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

Progress::Progress(std::FILE* out, std::size_t gpus, bool names_regimes,
                   std::optional<Clock::time_point> deadline)
    : out_(out),
      terminal_(isatty(fileno(out)) == 1),
      names_regimes_(names_regimes),
      deadline_(deadline),
      lanes_(gpus) {}

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
  std::vector<std::string> lines = racing_lines();
  if (const std::string text = compiling_line(); !text.empty()) lines.insert(lines.begin(), text);
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

std::string Progress::gpu_name(std::size_t gpu) const {
  return lanes_.size() > 1 ? fmt::format("GPU {}: ", gpu) : "";
}

/// With one GPU, one line. With several, one for all together and one for each that races.
std::vector<std::string> Progress::racing_lines() const {
  std::vector<std::string> lines;
  if (!racing_shapes_) return lines;
  const std::string left = time_left(advanced_, racing_start_);
  const std::string about = left.empty() ? "" : ", about " + left;
  if (lanes_.size() > 1) {
    const std::string all = fmt::format("{}/{} shapes finished", shapes_finished_, shape_count_);
    lines.push_back(terminal_ ? bar(advanced_, left) + all : all + about);
  }
  for (std::size_t gpu = 0; gpu < lanes_.size(); ++gpu) {
    const Lane& lane = lanes_[gpu];
    if (lane.doing.empty()) continue;
    if (lanes_.size() > 1) {
      lines.push_back(gpu_name(gpu) + lane.shape + ": " + lane.doing);
    } else if (terminal_) {
      lines.push_back(fmt::format("{}{}/{} {}: {}", bar(advanced_, left), lane.index + 1,
                                  shape_count_, lane.shape, lane.doing));
    } else {
      lines.push_back(lane.doing + about);
    }
  }
  return lines;
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

void Progress::race_started(int gpu, const GemmProblem& problem, Regime regime, int index,
                            int count, int candidates) {
  Lane& started = lane(gpu);
  started = {.start = Clock::now(),
             .index = index,
             .shape = to_string(problem),
             .rounds = 0,
             .doing = {},
             .standing = {}};
  if (names_regimes_) started.shape += fmt::format(" {}", to_string(regime));
  if (!racing_shapes_) racing_start_ = started.start;
  racing_shapes_ = true;
  shape_count_ = count;
  const std::string tag = problem.tag.empty() ? "" : " " + problem.tag;
  line(fmt::format("{}shape {}/{}: {}{}, {} candidates", gpu_name(static_cast<std::size_t>(gpu)),
                   index + 1, count, started.shape, tag, candidates));
}

void Progress::show_step(int gpu, const std::string& text) {
  lane(gpu).doing = text;
  show();
}

void Progress::preparing(int gpu, int done, int total) {
  show_step(gpu, fmt::format("verifying {}/{}", done, total));
}

void Progress::measuring(int gpu, int done, int total) {
  const Lane& own = lane(gpu);
  show_step(gpu, fmt::format("round {}, {}/{} measured{}{}", own.rounds + 1, done, total,
                             own.standing.empty() ? "" : ", ", own.standing));
}

void Progress::racing(int gpu, int round, int alive, const std::string& leader,
                      double ratio_cublas) {
  Lane& own = lane(gpu);
  own.standing = fmt::format("{} at {:.3f}x cuBLAS", leader, ratio_cublas);
  own.rounds = round;
  show_step(gpu, fmt::format("round {}, {} in the race, {}", round, alive, own.standing));
}

void Progress::weighing(int gpu, int done, int total) {
  show_step(gpu, fmt::format("energy {}/{}, {}", done, total, lane(gpu).standing));
}

void Progress::race_finished(int gpu, const GemmProblem&) {
  Lane& own = lane(gpu);
  own.doing.clear();
  ++shapes_finished_;
  line(fmt::format("{}shape {}/{}: {} finished in {:.1f} s{}{}",
                   gpu_name(static_cast<std::size_t>(gpu)), own.index + 1, shape_count_, own.shape,
                   seconds_since(own.start), own.standing.empty() ? "" : ", ", own.standing));
}

void Progress::warning(const std::string& text) { line("warning: " + text); }

}  // namespace hgemm::cli
