#include "studies/quantise/module.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "base/error.h"
#include "compile/source.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "program/devices.h"
#include "program/help.h"
#include "program/shapes.h"
#include "studies/quantise/run.h"
#include "studies/quantise/series.h"
#include "studies/quantise/table.h"
#include "studies/tuned.h"

namespace hgemm {
namespace {

/// Throws InputError if the study cannot have the problem.
void check_quantised(const GemmProblem& problem) {
  const auto refuse = [&](std::string_view why) {
    throw InputError(fmt::format("{} {}; leave it out", to_string(problem), why));
  };
  if (const char* reason = why_no_kernel(problem)) {
    throw InputError(fmt::format("no kernel can compute {}: {}", to_string(problem), reason));
  }
  if (!problem.has_8_bit_operands()) refuse("has no 8-bit operands, and nothing to quantise");
  if (problem.batch > 1) refuse("is a batch, whose products nothing quantises");
  if (!problem.data.is_normal()) refuse("names other data: activations are quantised from normal");
  if (const char* why = problem.baselines().why_none) {
    refuse(fmt::format("has no library to compare with: {}", why));
  }
}

class QuantiseModule : public StudyModule {
 public:
  std::string_view name() const override { return kQuantiseStudy; }

  void add_options(CLI::App& command) override {
    cli::add_shapes(command, problems_);
    command.add_option("--config", config_, cli::help_text("quantise", "--config"))
        ->type_name("LABEL");
  }

  std::vector<StudyRequest> plan(cli::StudyOptions& common) override {
    common.any_config = config_.empty();
    common.newest = true;
    std::optional<KernelConfig> named;
    std::optional<cli::Tuned> tuned;
    if (config_.empty()) {
      tuned.emplace(common);
    } else {
      named = parse_label(config_);  // whether it is valid depends on the problem's types
    }
    std::vector<StudyRequest> requests;
    for (const GemmProblem& problem : cli::chosen_problems(problems_)) {
      check_quantised(problem);
      const KernelConfig config = named ? *named : parse_label(tuned->winner(problem));
      if (const char* why = why_not(config, problem)) {
        throw InputError(
            fmt::format("{} cannot compute {}: {}", label(config), to_string(problem), why));
      }
      requests.push_back(
          {.kind = std::string(kQuantiseStudy),
           .label = label(config),
           .problem = problem,
           .sources = {{label(config), kernel_source(kernel_for(config, problem))}}});
    }
    return requests;
  }

  std::string table(const cli::StudyAnswer& answer, const Style& style) const override {
    return format_quantise(quantise_rows(answer.studies, cli::known_devices()), style);
  }

  Study run(const StudyRequest& request, const Cubins& cubins, const Bench& bench) const override {
    return run_quantise(request, only_cubin(cubins), bench);
  }

 private:
  cli::ShapeOptions problems_;
  std::string config_;
};

}  // namespace

std::unique_ptr<StudyModule> quantise_module() { return std::make_unique<QuantiseModule>(); }

}  // namespace hgemm
