#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/shapes.h"
#include "cli/studies.h"
#include "emit/ladder.h"
#include "study/counter_set.h"
#include "study/ladder.h"

namespace hgemm::cli {
namespace {

struct LadderOptions {
  StudyOptions study;
  std::string shape = "8192x8192x8192";
  std::string steps = "hopper";
  std::optional<std::string> dtype;
};

Shape chosen_shape(const LadderOptions& options) {
  const std::vector<Shape> shapes = chosen_shapes(options.shape);
  if (shapes.size() != 1) {
    throw InputError(fmt::format("--shape {}: one shape at a time", options.shape));
  }
  Shape shape = shapes.front();
  if (options.dtype) shape.dtype = parse_dtype(*options.dtype);
  return shape;
}

/// "hopper.03", as --steps takes it.
std::string short_name(const ladder::Step& step) {
  return fmt::format("{}.{}", to_string(step.family), step.id);
}

/// Why steps are left out, each reason once, with the steps that it holds for.
class LeftOut {
 public:
  void add(const ladder::Step& step, const std::string& reason) {
    auto known = std::ranges::find(reasons_, reason, &Reason::text);
    if (known == reasons_.end()) known = reasons_.insert(known, {reason, {}});
    known->steps.push_back(short_name(step));
  }
  /// "hopper.03, hopper.04: M must be a multiple of ..."
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (const Reason& reason : reasons_) {
      lines.push_back(fmt::format("{}: {}", fmt::join(reason.steps, ", "), reason.text));
    }
    return lines;
  }

 private:
  struct Reason {
    std::string text;
    std::vector<std::string> steps;
  };
  std::vector<Reason> reasons_;
};

/// The steps that were asked for, without those that cannot compute the shape, which stderr names.
/// Throws InputError if none can.
std::vector<LadderPoint> chosen_points(const LadderOptions& options, const Shape& shape) {
  std::vector<LadderPoint> points;
  LeftOut left_out;
  bool any_of_type = false;
  for (const ladder::Step& step : chosen_ladder_steps(options.steps)) {
    if (!supports(step, shape.dtype)) {
      left_out.add(step, fmt::format("not for {}", to_string(shape.dtype)));
      continue;
    }
    any_of_type = true;
    if (!shape.is_packed()) {
      left_out.add(step, "its matrices have no padding");
      continue;
    }
    if (const char* why = ladder::why_unsupported(step, shape.m, shape.n, shape.k)) {
      left_out.add(step, why);
      continue;
    }
    points.push_back({step, shape.dtype});
  }
  if (points.empty()) {
    const std::string reason = any_of_type
                                   ? fmt::format("{}", fmt::join(left_out.lines(), "; "))
                                   : fmt::format("none of them is for {}", to_string(shape.dtype));
    throw InputError(fmt::format("--steps {} at {}: {}", options.steps, to_string(shape), reason));
  }
  for (const std::string& line : left_out.lines()) fmt::print(stderr, "left out: {}\n", line);
  return points;
}

/// Counters need a permission that few users have: without them the ladder stands all the same.
/// Any other failure is one of the ladder too.
StudyAnswer counters_of(const LadderOptions& options, std::span<const StudyRequest> requests,
                        const std::string& command_line) {
  try {
    return study(options.study, requests, command_line);
  } catch (const InputError& error) {
    const std::string why = error.what();
    if (!why.starts_with(kCountersUnavailable)) throw;
    fmt::print(stderr, "no counters: {}\n", why);
    return {};
  }
}

/// Of which steps the records have no counters; empty if they have all. A step's timing, probe and
/// counters share its label, so the first line of the timings cannot say it.
std::string missing_counters(std::span<const LadderPoint> points,
                             const std::vector<RecordedStudy>& counted) {
  std::vector<std::string> missing;
  for (const LadderPoint& point : points) {
    const bool known = std::ranges::any_of(counted, [&](const RecordedStudy& recorded) {
      return recorded.study.label == ladder_label(point) && recorded.study.status == Status::kOk;
    });
    if (!known) missing.push_back(short_name(point.step));
  }
  if (missing.empty()) return "";
  if (missing.size() == points.size()) return "No counters of these steps were recorded.";
  return fmt::format("No counters were recorded of {}.", fmt::join(missing, ", "));
}

int run_ladder_command(const LadderOptions& options, const std::string& command_line) {
  const Format format = parse_format(options.study.format);
  const Shape shape = chosen_shape(options);
  const std::vector<LadderPoint> points = chosen_points(options, shape);

  std::vector<StudyRequest> timings;
  std::vector<StudyRequest> counters;
  for (const LadderPoint& point : points) {
    StudyRequest request{.kind = StudyKind::kLadder,
                         .label = ladder_label(point),
                         .shape = shape,
                         .sources = {{ladder_label(point), ladder_source(point)}}};
    timings.push_back(request);
    request.kind = StudyKind::kCounters;
    counters.push_back(request);
    if (!point.step.probed) continue;
    request.kind = StudyKind::kProbe;
    request.sources.front().text = ladder_source(point, true);
    timings.push_back(request);
  }
  StudyAnswer answer = study(options.study, timings, command_line);
  if (answer.stopped) return answer.exit_code;
  StudyAnswer counted = counters_of(options, counters, command_line);
  if (counted.stopped) return counted.exit_code;
  if (!answer.measured) {
    const std::string missing = missing_counters(points, counted.studies);
    if (!missing.empty()) answer.first_line += "\n" + missing;
  }
  std::ranges::move(counted.studies, std::back_inserter(answer.studies));
  answer.exit_code = std::max(answer.exit_code, counted.exit_code);
  print_first_line(answer, format);
  fmt::print("{}", format_ladder(ladder_rows(points, shape, answer.studies), format));
  return answer.exit_code;
}

}  // namespace

void add_ladder(CLI::App& program, Command& chosen, const std::string& command_line) {
  const auto options = std::make_shared<LadderOptions>();
  CLI::App* command =
      program.add_subcommand("ladder", help::kLadder)->footer(help::kLadderExamples);
  command->add_option("--shape", options->shape, help::kLadderShape)
      ->type_name("MxNxK")
      ->capture_default_str();
  command->add_option("--steps", options->steps, help::kLadderSteps)
      ->type_name("STEP|FAMILY")
      ->capture_default_str();
  command->add_option("--dtype", options->dtype, help::kLadderDtype)->type_name("TYPE");
  add_study_options(*command, options->study);
  command->callback([&chosen, options, command_line] {
    chosen = [options, command_line] { return run_ladder_command(*options, command_line); };
  });
}

}  // namespace hgemm::cli
