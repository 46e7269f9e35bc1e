#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iterator>
#include <memory>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/shapes.h"
#include "cli/studies.h"
#include "emit/ladder.h"
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

/// The steps that were asked for, of the shape's type. Throws InputError if none supports it.
std::vector<LadderPoint> chosen_points(const LadderOptions& options, const Shape& shape) {
  std::vector<LadderPoint> points;
  std::string reason = fmt::format("none of them is for {}", to_string(shape.dtype));
  for (const ladder::Step& step : chosen_ladder_steps(options.steps)) {
    if (!supports(step, shape.dtype)) continue;
    if (const char* why = ladder::why_unsupported(step, shape.m, shape.n, shape.k)) {
      reason = fmt::format("{}_{}: {}", step.id, step.name, why);
      fmt::print(stderr, "left out: {}\n", reason);
      continue;
    }
    points.push_back({step, shape.dtype});
  }
  if (points.empty()) {
    throw InputError(fmt::format("--steps {} at {}: {}", options.steps, to_string(shape), reason));
  }
  return points;
}

/// Counters need a permission that few users have: without them the ladder stands all the same.
std::vector<RecordedStudy> counters_of(const LadderOptions& options,
                                       std::span<const StudyRequest> requests,
                                       const std::string& command_line) {
  try {
    return study(options.study, requests, command_line).studies;
  } catch (const InputError& reason) {
    fmt::print(stderr, "no counters: {}\n", reason.what());
    return {};
  }
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
                         .source = ladder_source(point)};
    timings.push_back(request);
    request.kind = StudyKind::kCounters;
    counters.push_back(request);
    if (!point.step.probed) continue;
    request.kind = StudyKind::kProbe;
    request.source = ladder_source(point, true);
    timings.push_back(request);
  }
  StudyAnswer answer = study(options.study, timings, command_line);
  if (answer.stopped) return answer.exit_code;
  std::vector<RecordedStudy> counted = counters_of(options, counters, command_line);
  std::ranges::move(counted, std::back_inserter(answer.studies));
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
  command->add_option("--dtype", options->dtype, help::kLadderDtype)
      ->type_name("TYPE")
      ->default_str("bf16");
  add_study_options(*command, options->study);
  command->callback([&chosen, options, command_line] {
    chosen = [options, command_line] { return run_ladder_command(*options, command_line); };
  });
}

}  // namespace hgemm::cli
