#include "studies/chain/module.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/console.h"
#include "base/error.h"
#include "compile/source.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "program/configs.h"
#include "program/devices.h"
#include "program/help.h"
#include "program/shapes.h"
#include "studies/chain/chain.h"
#include "studies/chain/run.h"
#include "studies/chain/table.h"
#include "studies/tuned.h"

namespace hgemm {
namespace {

struct ChainOptions {
  cli::ShapeOptions problems;
  int length = 20;
  std::string config;
};

/// The problems with the requested rows (M); all if no rows were requested.
std::vector<GemmProblem> links_asked_for(const ChainOptions& options) {
  std::vector<GemmProblem> problems = cli::chosen_problems(options.problems);
  std::set<std::int64_t> known;
  for (const GemmProblem& problem : problems) {
    if (const char* reason = why_no_kernel(problem)) {
      throw InputError(fmt::format("no kernel can compute {}: {}", to_string(problem), reason));
    }
    if (problem.a_major() != Major::kK) {
      throw InputError(
          fmt::format("{} has an A that is contiguous in M, and a link's A is the D before it, "
                      "which is row-major: "
                      "a chain has layouts TN and TT",
                      to_string(problem)));
    }
    if (problem.epilogue.aux) {
      throw InputError(
          fmt::format("{} has a second output, which no link of a chain reads: leave -aux out",
                      to_string(problem)));
    }
    if (problem.batch > 1) {
      throw InputError(
          fmt::format("{} is a batch of products, and a link of a chain is a single one: leave it "
                      "out",
                      to_string(problem)));
    }
    if (problem.has_8_bit_operands()) {
      throw InputError(fmt::format(
          "{} has 8-bit operands, and the links of a chain have operands of 16 or 32 bits: "
          "leave it out",
          to_string(problem)));
    }
    if (!problem.is_packed()) {
      throw InputError(
          fmt::format("{} has padded rows, and the links of a chain have none: leave its leading "
                      "dimensions out",
                      to_string(problem)));
    }
    if (!problem.data.is_normal()) {
      throw InputError(
          fmt::format("{}: a chain is timed with normal data only, since its links feed each "
                      "other; leave other "
                      "data out",
                      to_string(problem)));
    }
    known.insert(problem.m);
  }
  // The rows of a model are those of its pass, and not all of its GEMMs have them.
  if (!options.problems.model.empty()) return problems;
  const std::vector<std::int64_t>& rows = options.problems.rows;
  for (const std::int64_t m : rows) {
    if (known.contains(m)) continue;
    throw InputError(fmt::format("--m {}: no shape of {} has so many rows; there are {}", m,
                                 options.problems.shapes, fmt::join(known, ", ")));
  }
  std::erase_if(problems, [&](const GemmProblem& problem) {
    return !rows.empty() && std::ranges::find(rows, problem.m) == rows.end();
  });
  return problems;
}

/// The configs for a problem: the best known ones, or the one that the user named.
class Configs {
 public:
  Configs(const ChainOptions& options, const cli::StudyOptions& common) {
    if (options.config.empty()) {
      tuned_.emplace(common);
      return;
    }
    named_ = cli::chosen_config(options.config);
  }
  cli::PdlPair of(const GemmProblem& problem) const {
    if (!named_) return tuned_->pdl_pair(problem);
    if (const char* reason = why_not(*named_, problem)) {
      throw InputError(fmt::format("--config {} cannot compute {}, a link of the chain: {}",
                                   label(*named_), to_string(problem), reason));
    }
    const cli::PdlPair pair = cli::pdl_pair_of(*named_);
    for (const std::string& text : {pair.off, pair.on}) {
      const auto rejection = why_invalid(parse_label(text));
      if (!rejection) continue;
      throw InputError(
          fmt::format("--config {}: a chain also runs {}, and the kernel cannot: {} (rule {})",
                      label(*named_), text, rejection->reason, rejection->rule));
    }
    return pair;
  }

 private:
  std::optional<cli::Tuned> tuned_;
  std::optional<KernelConfig> named_;
};

StudyRequest request_for(const Chain& chain, const Configs& configs) {
  StudyRequest request{
      .kind = std::string(kChainStudy), .label = chain.label, .problem = std::nullopt};
  // A cache, because looking up the best config takes a while.
  std::map<std::string, cli::PdlPair> known;
  std::set<std::string> names;
  std::vector<ChainLink> links;
  for (const GemmProblem& problem : chain.links) {
    const auto [found, fresh] = known.try_emplace(to_string(problem));
    if (fresh) found->second = configs.of(problem);
    const cli::PdlPair& pair = found->second;
    links.push_back({.problem = problem, .pdl_off = pair.off, .pdl_on = pair.on});
    for (const std::string& text : {pair.off, pair.on}) {
      const Kernel kernel = kernel_for(parse_label(text), problem);
      if (!names.insert(build_name(kernel)).second) continue;
      request.sources.push_back({build_name(kernel), kernel_source(kernel)});
    }
  }
  request.parts = parts_of(links);
  return request;
}

class ChainModule : public StudyModule {
 public:
  std::string_view name() const override { return kChainStudy; }

  void add_options(CLI::App& command) override {
    cli::add_shapes(command, options_.problems);
    CLI::Option* rows = command.get_option("--m");
    rows->remove_needs(command.get_option("--model"));
    rows->description(cli::help_text("chain", "--m"))->default_str("");
    command.add_option("--length", options_.length, cli::help_text("chain", "--length"))
        ->type_name("N")
        ->check(CLI::Range(kMinChainLength, kMaxChainLength))
        ->capture_default_str();
    command.add_option("--config", options_.config, cli::help_text("chain", "--config"))
        ->type_name("LABEL");
  }

  std::vector<StudyRequest> plan(cli::StudyOptions& common) override {
    common.newest = true;  // older studies had other kernels; a chain is about the present ones
    const std::vector<GemmProblem> problems = links_asked_for(options_);
    const Configs configs(options_, common);
    std::vector<StudyRequest> requests;
    for (const Chain& chain : chains_of(problems, options_.length)) {
      for (const GemmProblem& problem : chain.left_out) {
        say("left out: {} {}: it comes less often than once in a layer\n", to_string(problem),
            problem.tag);
      }
      requests.push_back(request_for(chain, configs));
    }
    return requests;
  }

  std::string table(const cli::StudyAnswer& answer, const Style& style) const override {
    const auto devices = cli::known_devices();
    return format_chain(chain_rows(answer.studies, devices), style);
  }

  Study run(const StudyRequest& request, const Cubins& cubins, const Bench& bench) const override {
    return run_chain(request, cubins, bench);
  }

 private:
  ChainOptions options_;
};

}  // namespace

std::unique_ptr<StudyModule> chain_module() { return std::make_unique<ChainModule>(); }

}  // namespace hgemm
