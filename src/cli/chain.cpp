#include "emit/chain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/configs.h"
#include "cli/devices.h"
#include "cli/help.h"
#include "cli/shapes.h"
#include "cli/studies.h"
#include "cli/tuned.h"
#include "compile/source.h"
#include "space/label.h"
#include "space/space.h"
#include "study/chain.h"

namespace hgemm::cli {
namespace {

struct ChainOptions {
  StudyOptions study;
  std::string shapes;
  std::vector<std::int64_t> rows;
  int length = 20;
  std::string config;
};

/// Those with the rows that were asked for; all if none were.
std::vector<Shape> links_asked_for(const ChainOptions& options) {
  std::vector<Shape> shapes = chosen_shapes(options.shapes);
  std::set<std::int64_t> known;
  for (const Shape& shape : shapes) {
    if (const char* reason = why_unsupported(shape)) {
      throw InputError(fmt::format("the kernel cannot compute {}: {}", to_string(shape), reason));
    }
    if (!shape.is_packed()) {
      throw InputError(
          fmt::format("{} has padded rows, and the links of a chain have none: leave its leading "
                      "dimensions out",
                      to_string(shape)));
    }
    known.insert(shape.m);
  }
  for (const std::int64_t m : options.rows) {
    if (known.contains(m)) continue;
    throw InputError(fmt::format("--m {}: no shape of {} has so many rows; there are {}", m,
                                 options.shapes, fmt::join(known, ", ")));
  }
  std::erase_if(shapes, [&](const Shape& shape) {
    return !options.rows.empty() && std::ranges::find(options.rows, shape.m) == options.rows.end();
  });
  return shapes;
}

/// Which configs compute a shape: the best known ones, or the one that was named.
class Configs {
 public:
  explicit Configs(const ChainOptions& options) {
    if (options.config.empty()) {
      tuned_.emplace(options.study);
      return;
    }
    named_ = chosen_config(options.config);
  }
  PdlPair of(const Shape& shape) const {
    if (!named_) return tuned_->pdl_pair(shape);
    if (!is_made_for(*named_, shape)) {
      throw InputError(
          fmt::format("--config {}: it is for another type or problem than {}, a link of the chain",
                      label(*named_), to_string(shape)));
    }
    if (const char* reason = why_unsupported(*named_, shape)) {
      throw InputError(fmt::format("--config {} cannot compute {}, a link of the chain: {}",
                                   label(*named_), to_string(shape), reason));
    }
    const PdlPair pair = pdl_pair_of(*named_);
    for (const std::string& text : {pair.off, pair.on}) {
      const Rule rule = why_invalid(parse_label(text));
      if (rule == Rule::kValid) continue;
      throw InputError(
          fmt::format("--config {}: a chain also runs {}, and the kernel cannot: {} (rule {})",
                      label(*named_), text, rule_text(rule).reason, rule_text(rule).name));
    }
    return pair;
  }

 private:
  std::optional<Tuned> tuned_;
  std::optional<KernelConfig> named_;
};

StudyRequest request_for(const Chain& chain, const Configs& configs) {
  StudyRequest request{.kind = StudyKind::kChain, .label = chain.label, .shape = std::nullopt};
  std::map<std::string, PdlPair> known;  // to look for the best of a shape takes a while
  std::set<std::string> labels;
  for (const Shape& shape : chain.links) {
    const auto [found, fresh] = known.try_emplace(to_string(shape));
    if (fresh) found->second = configs.of(shape);
    const PdlPair& pair = found->second;
    request.links.push_back({.shape = shape, .pdl_off = pair.off, .pdl_on = pair.on});
    for (const std::string& text : {pair.off, pair.on}) {
      if (!labels.insert(text).second) continue;
      request.sources.push_back({text, kernel_source(parse_label(text))});
    }
  }
  return request;
}

int run_chain_command(const ChainOptions& options, const std::string& command_line) {
  const Format format = parse_format(options.study.format);
  const std::vector<Shape> shapes = links_asked_for(options);
  const Configs configs(options);
  std::vector<StudyRequest> requests;
  for (const Chain& chain : chains_of(shapes, options.length)) {
    for (const Shape& shape : chain.left_out) {
      fmt::print(stderr, "left out: {} {}: it comes less often than once in a layer\n",
                 to_string(shape), shape.tag);
    }
    requests.push_back(request_for(chain, configs));
  }
  const StudyAnswer answer = study(options.study, requests, command_line);
  if (answer.stopped) return answer.exit_code;
  print_first_line(answer, format);
  const auto devices = known_devices();
  fmt::print("{}", format_chain(chain_rows(answer.studies, devices), format));
  return answer.exit_code;
}

}  // namespace

void add_chain(CLI::App& program, Command& chosen, const std::string& command_line) {
  const auto options = std::make_shared<ChainOptions>();
  CLI::App* command = program.add_subcommand("chain", help::kChain)->footer(help::kChainExamples);
  command->add_option("--shapes", options->shapes, help::kShapes)
      ->type_name("FILE|MxNxK")
      ->required();
  command->add_option("--m", options->rows, help::kChainRows)
      ->type_name("M[,M...]")
      ->delimiter(',');
  command->add_option("--length", options->length, help::kChainLength)
      ->type_name("N")
      ->check(CLI::Range(kMinChainLength, kMaxChainLength))
      ->capture_default_str();
  command->add_option("--config", options->config, help::kChainConfig)->type_name("LABEL");
  add_study_options(*command, options->study);
  options->study.newest = true;  // older ones had other kernels; `chain` is about those of now
  command->callback([&chosen, options, command_line] {
    chosen = [options, command_line] { return run_chain_command(*options, command_line); };
  });
}

}  // namespace hgemm::cli
