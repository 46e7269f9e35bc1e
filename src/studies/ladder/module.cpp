#include "studies/ladder/module.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <optional>

#include "base/console.h"
#include "base/error.h"
#include "gemm/codec.h"
#include "program/help.h"
#include "program/shapes.h"
#include "studies/counters/counter_set.h"
#include "studies/ladder/figure.h"
#include "studies/ladder/ladder.h"
#include "studies/ladder/run.h"
#include "studies/ladder/table.h"
#include "studies/probe/cycles.h"

namespace hgemm {
namespace {

struct LadderOptions {
  std::string problem = "8192x8192x8192";
  std::string steps = "hopper";
  std::optional<std::string> dtype;
};

GemmProblem chosen_problem(const LadderOptions& options) {
  const std::vector<GemmProblem> problems = cli::chosen_problems(options.problem);
  if (problems.size() != 1) {
    throw InputError(fmt::format("--shape {}: one shape at a time", options.problem));
  }
  GemmProblem problem = problems.front();
  if (!options.dtype) return problem;
  const auto type = find_data_type(*options.dtype);
  if (!type) {
    throw InputError(fmt::format("--dtype {}: use bf16, fp16 or fp32", *options.dtype));
  }
  problem.set_types(*type);
  return problem;
}

/// "hopper.03", as in --steps.
std::string short_name(const ladder::Step& step) {
  return fmt::format("{}.{}", to_string(step.family), step.id);
}

/// Collects the reasons why steps are left out: each reason once, with its steps.
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

/// The requested steps that can compute the problem; the others are named on stderr. Throws
/// InputError if there are none.
std::vector<LadderPoint> chosen_points(const LadderOptions& options, const GemmProblem& problem) {
  std::vector<LadderPoint> points;
  LeftOut left_out;
  bool any_of_type = false;
  for (const ladder::Step& step : chosen_ladder_steps(options.steps)) {
    if (!supports(step, problem.a_type) || problem.d_type != problem.a_type) {
      left_out.add(step, fmt::format("not for {}", types_text(problem)));
      continue;
    }
    any_of_type = true;
    if (problem.layout != Layout::kTN) {
      left_out.add(step, "its matrices have layout TN");
      continue;
    }
    if (has_epilogue(problem.kind())) {
      left_out.add(step, "it has no epilogue");
      continue;
    }
    if (problem.batch > 1) {
      left_out.add(step, "it computes a single product");
      continue;
    }
    if (!problem.is_packed()) {
      left_out.add(step, "its matrices have no padding");
      continue;
    }
    if (const char* why = ladder::why_unsupported(step, problem.m, problem.n, problem.k)) {
      left_out.add(step, why);
      continue;
    }
    points.push_back({step, problem.a_type});
  }
  if (points.empty()) {
    const std::string reason = any_of_type
                                   ? fmt::format("{}", fmt::join(left_out.lines(), "; "))
                                   : fmt::format("none of them is for {}", types_text(problem));
    throw InputError(
        fmt::format("--steps {} at {}: {}", options.steps, to_string(problem), reason));
  }
  for (const std::string& line : left_out.lines()) say("left out: {}\n", line);
  return points;
}

/// Names the steps that have no recorded counters; empty if all have them. The first line of the
/// answer cannot do it, because a step's timing, probe and counters share its label.
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

class Ladder : public StudyModule {
 public:
  std::string_view name() const override { return kLadderStudy; }

  void add_options(CLI::App& command) override {
    command.add_option("--shape", options_.problem, cli::help_text("ladder", "--shape"))
        ->type_name("MxNxK")
        ->capture_default_str();
    command.add_option("--steps", options_.steps, cli::help_text("ladder", "--steps"))
        ->type_name("STEP|FAMILY")
        ->capture_default_str();
    command.add_option("--dtype", options_.dtype, cli::help_text("ladder", "--dtype"))
        ->type_name("TYPE");
  }

  std::vector<StudyRequest> plan(cli::StudyOptions&) override {
    problem_ = chosen_problem(options_);
    points_ = chosen_points(options_, problem_);
    std::vector<StudyRequest> requests;
    for (const LadderPoint& point : points_) {
      requests.push_back(request_for(point, kLadderStudy, ladder_source(point)));
      if (!point.step.probed) continue;
      requests.push_back(request_for(point, kProbeStudy, ladder_source(point, true)));
    }
    return requests;
  }

  /// The timings and probes, then counters of the same steps.
  cli::StudyAnswer answer(const cli::StudyOptions& common, std::span<const StudyRequest> requests,
                          const std::string& command_line) override {
    cli::StudyAnswer answer = cli::study(common, requests, command_line);
    if (answer.stopped) return answer;
    cli::StudyAnswer counted = counters(common, command_line);
    if (counted.stopped) return counted;
    if (!answer.measured) {
      const std::string missing = missing_counters(points_, counted.studies);
      if (!missing.empty()) answer.first_line += "\n" + missing;
    }
    std::ranges::move(counted.studies, std::back_inserter(answer.studies));
    answer.exit_code = std::max(answer.exit_code, counted.exit_code);
    return answer;
  }

  std::string table(const cli::StudyAnswer& answer, const Style& style) const override {
    return format_ladder(ladder_rows(points_, problem_, answer.studies), style);
  }

  Study run(const StudyRequest& request, const Cubins& cubins, const Bench& bench) const override {
    return run_ladder(request, only_cubin(cubins), bench);
  }

  std::vector<report::Section> sections(const report::Known& known) const override {
    return {{"ladder", ladder_section(known)}};
  }

 private:
  StudyRequest request_for(const LadderPoint& point, std::string_view kind,
                           std::string source) const {
    return {.kind = std::string(kind),
            .label = ladder_label(point),
            .problem = problem_,
            .sources = {{ladder_label(point), std::move(source)}}};
  }

  /// Counters need a permission that few users have; without it the ladder is shown without them.
  /// Any other failure counts as a failure of the ladder.
  cli::StudyAnswer counters(const cli::StudyOptions& common,
                            const std::string& command_line) const {
    std::vector<StudyRequest> requests;
    for (const LadderPoint& point : points_) {
      requests.push_back(request_for(point, kCountersStudy, ladder_source(point)));
    }
    try {
      return cli::study(common, requests, command_line);
    } catch (const InputError& error) {
      const std::string why = error.what();
      if (!why.starts_with(kCountersUnavailable)) throw;
      say("no counters: {}\n", why);
      return {};
    }
  }

  LadderOptions options_;
  GemmProblem problem_;
  std::vector<LadderPoint> points_;
};

}  // namespace

std::unique_ptr<StudyModule> ladder_module() { return std::make_unique<Ladder>(); }

}  // namespace hgemm
