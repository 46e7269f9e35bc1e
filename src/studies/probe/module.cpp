#include "studies/probe/module.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/console.h"
#include "base/error.h"
#include "compile/source.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "program/help.h"
#include "program/shapes.h"
#include "program/writable.h"
#include "studies/ladder/ladder.h"
#include "studies/ladder/run.h"
#include "studies/probe/figure.h"
#include "studies/probe/launch.h"
#include "studies/probe/run.h"
#include "studies/probe/table.h"
#include "studies/probe/trace.h"
#include "studies/tuned.h"

namespace hgemm {
namespace {

struct ProbeOptions {
  cli::ShapeOptions problems;
  std::vector<std::string> configs;
  std::string trace;
};

/// The config with cycle stamps; the label may have them or not. `origin` says in messages where
/// the label is from.
KernelConfig probed_config(const std::string& text, const std::string& origin,
                           const GemmProblem& problem) {
  const ProbedConfig probed = with_probe(parse_label(text), problem);
  if (probed.config) return *probed.config;
  const Rejection& why = probed.rejection;
  const char* const next_step = why.rule == "probe"
                                    ? "; name another one with --config, or look into this one "
                                      "with hgemm-tune counters"
                                    : "";
  throw InputError(fmt::format("{} {}: the kernel cannot run it: {} (rule {}){}", origin, text,
                               why.reason, why.rule, next_step));
}

/// The newest config that was probed at `problem`; none if none was.
std::optional<KernelConfig> probed_before(const std::vector<RecordedStudy>& recorded,
                                          const GemmProblem& problem) {
  std::optional<KernelConfig> newest;
  for (const RecordedStudy& known : recorded) {
    const Study& study = known.study;
    if (!study.problem || !study.problem->same_problem(problem) || study.status != Status::kOk ||
        parse_ladder_label(study.label)) {
      continue;
    }
    const ProbedConfig probed = with_probe(parse_label(study.label), problem);
    if (probed.config && !why_not(*probed.config, problem)) newest = *probed.config;
  }
  return newest;
}

/// The best known config at `problem`, or the best one of its race that stamps can follow, or one
/// that was looked into before.
KernelConfig probed_winner(const cli::Tuned& tuned, const std::vector<RecordedStudy>& recorded,
                           const GemmProblem& problem) {
  const BestRow best = tuned.best(problem);
  const auto broken_rule = [&] {
    return with_probe(parse_label(*best.label), problem).rejection.rule;
  };
  for (const Finalist& finalist : best.finalists) {
    const ProbedConfig probed = with_probe(parse_label(finalist.label), problem);
    if (!probed.config) continue;
    if (finalist.label != best.label) {
      say("{}: stamps cannot follow the best known config, {} (rule {}); this looks into {}\n",
          to_string(problem), *best.label, broken_rule(), finalist.label);
    }
    return *probed.config;
  }
  if (const auto before = probed_before(recorded, problem)) {
    if (best.label) {
      say("{}: stamps cannot follow the best known config, {} (rule {}), nor another of its race; "
          "this is {}, which was looked into before\n",
          to_string(problem), *best.label, broken_rule(), label(*before));
    }
    return *before;
  }
  return probed_config(tuned.winner(problem),
                       fmt::format("the best known config at {},", to_string(problem)), problem);
}

class Probe : public StudyModule {
 public:
  std::string_view name() const override { return kProbeStudy; }

  void add_options(CLI::App& command) override {
    cli::add_shapes(command, options_.problems);
    command.add_option("--config", options_.configs, cli::help_text("probe", "--config"))
        ->type_name("LABEL[,LABEL...]")
        ->delimiter(',');
    command.add_option("--trace", options_.trace, cli::help_text("probe", "--trace"))
        ->type_name("FILE");
  }

  std::vector<StudyRequest> plan(cli::StudyOptions& common) override {
    common.any_config = options_.configs.empty();
    std::optional<cli::Tuned> tuned;
    std::vector<RecordedStudy> recorded;
    if (options_.configs.empty()) {
      tuned.emplace(common);
      cli::StudyOptions known = common;
      if (known.db && !std::filesystem::exists(*known.db)) known.db.reset();  // not written yet
      recorded = cli::recorded_studies(known, std::string(kProbeStudy));
    }
    std::vector<StudyRequest> requests;
    for (const GemmProblem& problem : cli::chosen_problems(options_.problems)) {
      if (const char* reason = why_no_kernel(problem)) {
        throw InputError(fmt::format("no kernel can compute {}: {}", to_string(problem), reason));
      }
      if (tuned) requests.push_back(request_for(probed_winner(*tuned, recorded, problem), problem));
      for (const std::string& text : options_.configs) {
        const KernelConfig config = probed_config(text, to_string(problem) + ": --config", problem);
        if (const char* reason = why_not(config, problem)) {
          throw InputError(
              fmt::format("{} cannot compute {}: {}", label(config), to_string(problem), reason));
        }
        requests.push_back(request_for(config, problem));
      }
    }
    check_trace(requests.size());
    return requests;
  }

  std::string table(const cli::StudyAnswer& answer, const Style& style) const override {
    return format_probe(answer.studies, style);
  }

  void finish(const cli::StudyAnswer& answer) const override {
    if (!options_.trace.empty() && answer.exit_code == 0) write_trace(answer.studies);
  }

  Study run(const StudyRequest& request, const Cubins& cubins, const Bench& bench) const override {
    return parse_ladder_label(request.label) ? run_ladder_probe(request, only_cubin(cubins), bench)
                                             : run_probe(request, only_cubin(cubins), bench);
  }

  std::vector<report::Section> sections(const report::Known& known) const override {
    return {{"cycles", cycles_section(known)}};
  }

 private:
  StudyRequest request_for(const KernelConfig& config, const GemmProblem& problem) const {
    return {.kind = std::string(kProbeStudy),
            .label = label(config),
            .problem = problem,
            .sources = {{label(config), kernel_source(kernel_for(config, problem))}},
            .timeline = !options_.trace.empty()};
  }

  void check_trace(std::size_t requests) const {
    if (options_.trace.empty()) return;
    if (requests != 1) {
      throw InputError(fmt::format(
          "--trace writes the timeline of one shape and configuration, and these are {}",
          requests));
    }
    const auto folder = std::filesystem::absolute(options_.trace).parent_path();
    if (!std::filesystem::is_directory(folder) || !cli::can_write_into(folder)) {
      throw InputError(fmt::format("--trace {}: {} is not a folder that can be written",
                                   options_.trace, folder.string()));
    }
  }

  /// Writes the timeline of the newest study that has one.
  void write_trace(const std::vector<RecordedStudy>& studies) const {
    const std::string& path = options_.trace;
    const auto found = std::ranges::find_if(
        studies, [](const RecordedStudy& recorded) { return !recorded.study.spans.empty(); });
    if (found == studies.end()) {
      throw Error(fmt::format("--trace {}: no timeline of this was recorded", path));
    }
    const Study& study = found->study;
    std::ofstream file(path, std::ios::binary);
    file << chrome_trace(study.spans,
                         fmt::format("{} at {} on {}", study.label, to_string(*study.problem),
                                     found->environment.gpu_name));
    file.close();
    if (!file) throw Error(fmt::format("--trace {}: it could not be written", path));
    say("{} spans are in {}: open it in ui.perfetto.dev\n", study.spans.size(), path);
  }

  ProbeOptions options_;
};

}  // namespace

std::unique_ptr<StudyModule> probe_module() { return std::make_unique<Probe>(); }

}  // namespace hgemm
