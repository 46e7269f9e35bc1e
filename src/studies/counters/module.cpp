#include "studies/counters/module.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "base/console.h"
#include "base/error.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "program/configs.h"
#include "program/help.h"
#include "program/shapes.h"
#include "studies/counters/counter_set.h"
#include "studies/counters/figure.h"
#include "studies/counters/request.h"
#include "studies/counters/run.h"
#include "studies/counters/table.h"
#include "studies/tuned.h"

namespace hgemm {
namespace {

class Counters : public StudyModule {
 public:
  std::string_view name() const override { return kCountersStudy; }

  void add_options(CLI::App& command) override {
    cli::add_shapes(command, problems_);
    command.add_option("--config", configs_, cli::help_text("counters", "--config"))
        ->type_name("LABEL[,LABEL...]")
        ->delimiter(',');
    command.add_flag("--cublaslt", cublaslt_, cli::help_text("counters", "--cublaslt"));
  }

  std::vector<StudyRequest> plan(cli::StudyOptions& common) override {
    common.any_config = configs_.empty();
    for (const std::string& label : configs_) check_counted(label);
    std::optional<cli::Tuned> tuned;
    if (configs_.empty() || cublaslt_) tuned.emplace(common);

    std::vector<StudyRequest> requests;
    for (const GemmProblem& problem : cli::chosen_problems(problems_)) {
      for (const std::string& label : labels_at(problem, tuned)) {
        requests.push_back(counters_request(label, problem));
      }
    }
    return requests;
  }

  /// If counters cannot be read here, answers from records, as without a GPU.
  cli::StudyAnswer answer(const cli::StudyOptions& common, std::span<const StudyRequest> requests,
                          const std::string& command_line) override {
    try {
      return cli::study(common, requests, command_line);
    } catch (const InputError& error) {
      const std::string why = error.what();
      if (!why.starts_with(kCountersUnavailable)) throw;
      if (common.require_gpu) throw Error(why);
      cli::StudyOptions recorded = common;
      recorded.recorded = true;
      recorded.why_recorded = fmt::format("{}.", why);
      recorded.why_recorded.front() = 'H';
      return cli::study(recorded, requests, command_line);
    }
  }

  bool has_fixed_columns() const override { return false; }
  std::string table(const cli::StudyAnswer& answer, const Style& style) const override {
    return format_counters(answer.studies, style);
  }

  Study run(const StudyRequest& request, const Cubins& cubins, const Bench& bench) const override {
    return run_counters(request, only_cubin(cubins), bench);
  }

  std::vector<report::Section> sections(const report::Known& known) const override {
    return {{"tile_order", tile_order_section(known)}};
  }

 private:
  /// The candidates at a problem: those that the user named, or the best known config; then cublas,
  /// and on request the fastest cuBLASLt algorithm.
  std::vector<std::string> labels_at(const GemmProblem& problem,
                                     const std::optional<cli::Tuned>& tuned) const {
    std::vector<std::string> labels;
    const auto add = [&](const std::string& label) {
      if (std::ranges::find(labels, label) == labels.end()) labels.push_back(label);
    };
    for (const std::string& label : configs_) {
      if (is_of_type(label, problem)) add(label);
    }
    if (!configs_.empty() && labels.empty()) {
      throw InputError(
          fmt::format("shape {}: none of --config is for its type", to_string(problem)));
    }
    if (configs_.empty()) add(tuned->winner(problem));
    add(std::string(kCublasLabel));
    const BestRow best = cublaslt_ ? tuned->best(problem) : BestRow{};
    if (cublaslt_ && !best.cublaslt_label.empty()) {
      add(best.cublaslt_label);
    } else if (cublaslt_) {
      say("{}: no cuBLASLt algorithm was measured to the end; name one with --config {}0\n",
          to_string(problem), kCublasLtPrefix);
    }
    return labels;
  }

  cli::ShapeOptions problems_;
  std::vector<std::string> configs_;
  bool cublaslt_ = false;
};

}  // namespace

std::unique_ptr<StudyModule> counters_module() { return std::make_unique<Counters>(); }

}  // namespace hgemm
