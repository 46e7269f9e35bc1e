#include "studies/accuracy/module.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "base/console.h"
#include "base/error.h"
#include "compile/source.h"
#include "gemm/codec.h"
#include "gemm/problem_list.h"
#include "program/devices.h"
#include "program/help.h"
#include "program/shapes.h"
#include "search/figures.h"
#include "search/proposer.h"
#include "studies/accuracy/accuracy.h"
#include "studies/accuracy/run.h"
#include "studies/accuracy/table.h"
#include "studies/tuned.h"

namespace hgemm {
namespace {

constexpr const char* kDefaultShapes = "accuracy.yaml";

struct AccuracyOptions {
  cli::ShapeOptions problems;
  std::vector<std::string> configs;
  bool keep_d = false;
};

/// The problems as they are given, before D becomes fp32.
std::vector<GemmProblem> given_problems(cli::ShapeOptions options) {
  if (options.shapes.empty() && options.model.empty()) options.shapes = kDefaultShapes;
  if (!options.accumulate) options.accumulate = "any";
  return cli::chosen_problems(options);
}

GemmProblem with_fp32_d(GemmProblem problem) {
  problem.d_type = DataType::kFp32;
  if (problem.c_type) problem.c_type = problem.d_type;
  return problem;
}

/// What a command says about a problem that it cannot compare.
void check_problem(const GemmProblem& problem) {
  const char* reason = why_no_kernel(problem);
  if (reason == nullptr) reason = why_no_accuracy(problem);
  if (reason == nullptr) return;
  throw InputError(fmt::format("accuracy at {}: {}", to_string(problem), reason));
}

/// Chooses configs where none are named.
class Chooser {
 public:
  explicit Chooser(const cli::StudyOptions& common)
      : tuned_(common), figures_(cost_figures(cli::known_devices().front())) {}

  /// The best known config at the problem; or that of the problem as it was given, if it can
  /// compute this one; or the first that the cost model proposes. No time is measured, so that what
  /// was proposed for one problem does for others which it suits: a proposal takes half a second.
  KernelConfig choose(const GemmProblem& problem, const GemmProblem& given) {
    for (const GemmProblem* known : {&problem, &given}) {
      const auto label = tuned_.best(*known).label;
      if (label && !with_each_interval(parse_label(*label), problem).empty()) {
        return parse_label(*label);
      }
    }
    for (const KernelConfig& config : proposed_) {
      const std::vector<KernelConfig> all = with_each_interval(config, problem);
      if (!all.empty() && suits(all.front(), problem)) return config;
    }
    const std::vector<Proposal> proposed = propose({.problem = problem, .figures = figures_});
    if (proposed.empty()) {
      throw InputError(
          fmt::format("no configuration suits {}: name one with --config", to_string(problem)));
    }
    proposed_.push_back(proposed.front().config);
    return proposed_.back();
  }

 private:
  cli::Tuned tuned_;
  CostFigures figures_;
  std::vector<KernelConfig> proposed_;
};

class Accuracy : public StudyModule {
 public:
  std::string_view name() const override { return kAccuracyStudy; }

  void add_options(CLI::App& command) override {
    cli::add_shapes(command, options_.problems);
    command.add_option("--config", options_.configs, cli::help_text("accuracy", "--config"))
        ->type_name("LABEL[,LABEL...]")
        ->delimiter(',');
    command.add_flag("--keep-d", options_.keep_d, cli::help_text("accuracy", "--keep-d"));
  }

  std::vector<StudyRequest> plan(cli::StudyOptions& common) override {
    std::vector<KernelConfig> named;
    for (const std::string& text : options_.configs) named.push_back(parse_label(text));
    std::vector<bool> is_used(named.size());
    std::optional<Chooser> chooser;  // reads all results that it knows
    const std::vector<RecordedStudy> recorded = recorded_before(common);
    std::vector<StudyRequest> requests;
    const std::vector<GemmProblem> all = given_problems(options_.problems);
    for (const GemmProblem& given : all) {
      const GemmProblem problem = options_.keep_d ? given : with_fp32_d(given);
      check_problem(problem);
      if (add_recorded(recorded, problem, requests)) continue;
      for (std::size_t i = 0; i < named.size(); ++i) {
        if (add_intervals(named[i], problem, requests)) is_used[i] = true;
      }
      if (named.empty()) {
        if (!chooser) chooser.emplace(common);
        add_intervals(chooser->choose(problem, given), problem, requests);
      }
      add_library(problem, requests);
    }
    for (std::size_t i = 0; i < named.size(); ++i) {
      if (is_used[i]) continue;
      refuse(named[i], options_.keep_d ? all.front() : with_fp32_d(all.front()));
    }
    return requests;
  }

  std::string table(const cli::StudyAnswer& answer, const Style& style) const override {
    return format_accuracy(answer.studies, style);
  }

  Study run(const StudyRequest& request, const Cubins& cubins, const Bench& bench) const override {
    return run_accuracy(request, only_cubin(cubins), bench);
  }

 private:
  /// Where no configs are named and nothing is to be measured, what was recorded decides.
  std::vector<RecordedStudy> recorded_before(const cli::StudyOptions& common) const {
    if (!common.recorded || !options_.configs.empty()) return {};
    return cli::recorded_studies(common, std::string(kAccuracyStudy));
  }

  static StudyRequest request_for(const std::string& label, const GemmProblem& problem) {
    return {.kind = std::string(kAccuracyStudy), .label = label, .problem = problem};
  }

  /// Adds what was recorded at the problem, each label once. Returns false if nothing was.
  static bool add_recorded(const std::vector<RecordedStudy>& recorded, const GemmProblem& problem,
                           std::vector<StudyRequest>& requests) {
    const std::size_t before = requests.size();
    for (const RecordedStudy& known : recorded) {
      const Study& study = known.study;
      if (!study.problem || !study.problem->same_problem(problem)) continue;
      const bool is_known =
          std::any_of(requests.begin() + static_cast<std::ptrdiff_t>(before), requests.end(),
                      [&](const StudyRequest& other) { return other.label == study.label; });
      if (!is_known) requests.push_back(request_for(study.label, problem));
    }
    return requests.size() > before;
  }

  /// Adds the config with each interval of promotion. Returns false if it cannot compute the
  /// problem with any.
  static bool add_intervals(const KernelConfig& config, const GemmProblem& problem,
                            std::vector<StudyRequest>& requests) {
    const std::vector<KernelConfig> all = with_each_interval(config, problem);
    for (const KernelConfig& one : all) {
      requests.push_back(request_for(label(one), problem));
      requests.back().sources = {{label(one), kernel_source(kernel_for(one, problem))}};
    }
    return !all.empty();
  }

  static void add_library(const GemmProblem& problem, std::vector<StudyRequest>& requests) {
    const GemmProblem::Baselines baselines = problem.baselines();
    if (baselines.cublas) {
      requests.push_back(request_for(std::string(kCublasLabel), problem));
    } else {
      say("{}: no library beside it: {}\n", to_string(problem), baselines.why_none);
    }
  }

  [[noreturn]] static void refuse(const KernelConfig& config, const GemmProblem& problem) {
    const char* const reason = why_not(config, problem);
    throw InputError(
        fmt::format("--config {} can compute none of the shapes, with no interval of "
                    "promotion: at {}: {}",
                    label(config), to_string(problem), reason != nullptr ? reason : "no reason"));
  }

  AccuracyOptions options_;
};

}  // namespace

std::unique_ptr<StudyModule> accuracy_module() { return std::make_unique<Accuracy>(); }

}  // namespace hgemm
