#include "studies/ladder/module.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <ranges>
#include <utility>

#include "base/console.h"
#include "base/error.h"
#include "compile/source.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "program/help.h"
#include "program/shapes.h"
#include "studies/counters/counter_set.h"
#include "studies/ladder/figure.h"
#include "studies/ladder/ladder.h"
#include "studies/ladder/run.h"
#include "studies/ladder/table.h"
#include "studies/probe/cycles.h"
#include "studies/tuned.h"

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

/// Finds the configs of tuned steps. Reads the databases when it is first asked, because that takes
/// longer than all else of the command.
class TunedConfigs {
 public:
  explicit TunedConfigs(const cli::StudyOptions& options) : options_(options) {
    if (options_.db && !std::filesystem::exists(*options_.db)) options_.db.reset();  // not yet
  }

  /// The best known config at the problem, or one that the ladder has timed there; empty if none
  /// is known and valid.
  std::string at(const GemmProblem& problem) {
    if (!tuned_) {
      tuned_.emplace(options_);
      timed_ = cli::recorded_studies(options_, std::string(kLadderStudy));
    }
    std::vector<std::string> known;
    if (const BestRow best = tuned_->best(problem); best.label) known.push_back(*best.label);
    for (const RecordedStudy& recorded : timed_ | std::views::reverse) {
      if (is_of_tuned_step(recorded.study, problem)) known.push_back(recorded.study.label);
    }
    for (const std::string& label : known) {
      if (!why_not(parse_label(label), problem)) return label;
    }
    return "";
  }

 private:
  cli::StudyOptions options_;
  std::optional<cli::Tuned> tuned_;
  std::vector<RecordedStudy> timed_;
};

/// The requested steps that can compute the problem; the others are named on stderr. Throws
/// InputError if there are none.
std::vector<LadderPoint> chosen_points(const LadderOptions& options, const GemmProblem& problem,
                                       TunedConfigs& tuned) {
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
    LadderPoint point{step, problem.a_type, {}};
    if (is_tuned(step)) {
      point.dtype = operand_type(step, problem.a_type);
      const GemmProblem own = problem_of(point, problem);
      if (const char* why = why_no_kernel(own)) {
        left_out.add(step, why);
        continue;
      }
      point.config = tuned.at(own);
      if (point.config.empty()) {
        left_out.add(step,
                     fmt::format("no config is known there; hgemm-tune tune --shapes {} finds "
                                 "the best one",
                                 to_string(own)));
        continue;
      }
    }
    points.push_back(std::move(point));
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

/// The points as they were answered: from records, with other configs of tuned steps than those
/// that were asked for.
std::vector<LadderPoint> answered_points(std::span<const LadderPoint> points,
                                         const GemmProblem& problem,
                                         std::span<const RecordedStudy> studies) {
  std::vector<LadderPoint> answered(points.begin(), points.end());
  for (LadderPoint& point : answered) {
    if (!is_tuned(point.step)) continue;
    const GemmProblem own = problem_of(point, problem);
    const auto timing = std::ranges::find_if(studies, [&](const RecordedStudy& recorded) {
      return is_of_tuned_step(recorded.study, own);
    });
    if (timing != studies.end()) point.config = timing->study.label;
  }
  return answered;
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

  std::vector<StudyRequest> plan(cli::StudyOptions& common) override {
    common.any_config = true;  // of tuned steps
    problem_ = chosen_problem(options_);
    TunedConfigs tuned(common);
    points_ = chosen_points(options_, problem_, tuned);
    std::vector<StudyRequest> requests;
    for (const LadderPoint& point : points_) {
      requests.push_back(request_for(point, kLadderStudy, source_of(point)));
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
    points_ = answered_points(points_, problem_, answer.studies);
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
  std::string source_of(const LadderPoint& point) const {
    if (!is_tuned(point.step)) return ladder_source(point);
    return kernel_source(kernel_for(parse_label(point.config), problem_of(point, problem_)));
  }

  StudyRequest request_for(const LadderPoint& point, std::string_view kind,
                           std::string source) const {
    return {.kind = std::string(kind),
            .label = ladder_label(point),
            .problem = problem_of(point, problem_),
            .sources = {{ladder_label(point), std::move(source)}}};
  }

  /// Counters need a permission that few users have; without it the ladder is shown without them.
  /// Any other failure counts as a failure of the ladder.
  cli::StudyAnswer counters(const cli::StudyOptions& common,
                            const std::string& command_line) const {
    cli::StudyOptions exact = common;
    exact.any_config = false;
    std::vector<StudyRequest> requests;
    for (const LadderPoint& point : points_) {
      requests.push_back(request_for(point, kCountersStudy, source_of(point)));
    }
    try {
      return cli::study(exact, requests, command_line);
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
