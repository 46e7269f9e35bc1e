#include "emit/probe.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/shapes.h"
#include "cli/studies.h"
#include "cli/tuned.h"
#include "cli/writable.h"
#include "compile/source.h"
#include "space/label.h"
#include "space/space.h"
#include "study/trace.h"

namespace hgemm::cli {
namespace {

struct ProbeOptions {
  StudyOptions study;
  std::string shapes;
  std::vector<std::string> configs;
  std::string trace;
};

/// With stamps; the label may say either. `origin` is where it comes from.
KernelConfig probed_config(const std::string& text, const std::string& origin) {
  const KernelConfig config = with_probe(parse_label(text));
  const Rule rule = why_invalid(config);
  if (rule == Rule::kValid) return config;
  const char* const next_step =
      rule == Rule::kProbe ? "; name another one with --config, or look into this one with "
                             "hgemm-tune counters"
                           : "";
  throw InputError(fmt::format("{} {}: the kernel cannot run it: {} (rule {}){}", origin, text,
                               rule_text(rule).reason, rule_text(rule).name, next_step));
}

/// The best known config at `shape`, or the best one of its race that stamps can follow.
KernelConfig probed_winner(const Tuned& tuned, const Shape& shape) {
  const BestRow best = tuned.best(shape);
  for (const Finalist& finalist : best.finalists) {
    const KernelConfig config = with_probe(parse_label(finalist.label));
    if (why_invalid(config) != Rule::kValid) continue;
    if (finalist.label != best.label) {
      fmt::print(
          stderr,
          "{}: stamps cannot follow the best known config, {} (rule {}); this looks into {}\n",
          to_string(shape), *best.label,
          rule_text(why_invalid(with_probe(parse_label(*best.label)))).name, finalist.label);
    }
    return config;
  }
  return probed_config(tuned.winner(shape),
                       fmt::format("the best known config at {},", to_string(shape)));
}

StudyRequest request_for(const KernelConfig& config, const Shape& shape, bool timeline) {
  StudyRequest request;
  request.kind = StudyKind::kProbe;
  request.label = label(config);
  request.shape = shape;
  request.sources = {{request.label, kernel_source(config)}};
  request.timeline = timeline;
  return request;
}

std::vector<StudyRequest> requests_of(const ProbeOptions& options) {
  std::vector<KernelConfig> configs;
  for (const std::string& text : options.configs)
    configs.push_back(probed_config(text, "--config"));
  std::optional<Tuned> tuned;
  if (configs.empty()) tuned.emplace(options.study);
  std::vector<StudyRequest> requests;
  for (const Shape& shape : chosen_shapes(options.shapes)) {
    if (const char* reason = why_unsupported(shape)) {
      throw InputError(fmt::format("the kernel cannot compute {}: {}", to_string(shape), reason));
    }
    const std::size_t before = requests.size();
    if (tuned) {
      requests.push_back(request_for(probed_winner(*tuned, shape), shape, !options.trace.empty()));
    }
    for (const KernelConfig& config : configs) {
      if (!is_made_for(config, shape)) continue;
      if (const char* reason = why_unsupported(config, shape)) {
        throw InputError(
            fmt::format("{} cannot compute {}: {}", label(config), to_string(shape), reason));
      }
      requests.push_back(request_for(config, shape, !options.trace.empty()));
    }
    if (requests.size() == before) {
      throw InputError(
          fmt::format("shape {}: none of the configurations is made for it (they are for other "
                      "types or problems)",
                      to_string(shape)));
    }
  }
  return requests;
}

void check_trace(const ProbeOptions& options, std::size_t requests) {
  if (options.trace.empty()) return;
  if (requests != 1) {
    throw InputError(fmt::format(
        "--trace writes the timeline of one shape and configuration, and these are {}", requests));
  }
  const auto folder = std::filesystem::absolute(options.trace).parent_path();
  if (!std::filesystem::is_directory(folder) || !can_write_into(folder)) {
    throw InputError(fmt::format("--trace {}: {} is not a folder that can be written",
                                 options.trace, folder.string()));
  }
}

/// Of the newest study that has a timeline.
void write_trace(const std::string& path, const std::vector<RecordedStudy>& studies) {
  const auto found = std::ranges::find_if(
      studies, [](const RecordedStudy& recorded) { return !recorded.study.spans.empty(); });
  if (found == studies.end()) {
    throw Error(fmt::format("--trace {}: no timeline of this was recorded", path));
  }
  const Study& study = found->study;
  std::ofstream file(path, std::ios::binary);
  file << chrome_trace(study.spans,
                       fmt::format("{} at {} on {}", study.label, to_string(*study.shape),
                                   found->environment.gpu_name));
  file.close();
  if (!file) throw Error(fmt::format("--trace {}: it could not be written", path));
  fmt::print(stderr, "{} spans are in {}: open it in ui.perfetto.dev\n", study.spans.size(), path);
}

int run_probe_command(const ProbeOptions& options, const std::string& command_line) {
  const Format format = parse_format(options.study.format);
  const std::vector<StudyRequest> requests = requests_of(options);
  check_trace(options, requests.size());
  StudyOptions how = options.study;
  how.any_config = options.configs.empty();
  const StudyAnswer answer = study(how, requests, command_line);
  if (answer.stopped) return answer.exit_code;
  print_first_line(answer, format);
  fmt::print("{}", format_probe(answer.studies, format));
  if (!options.trace.empty() && answer.exit_code == 0) write_trace(options.trace, answer.studies);
  return answer.exit_code;
}

}  // namespace

void add_probe(CLI::App& program, Command& chosen, const std::string& command_line) {
  const auto options = std::make_shared<ProbeOptions>();
  CLI::App* command = program.add_subcommand("probe", help::kProbe)->footer(help::kProbeExamples);
  command->add_option("--shapes", options->shapes, help::kShapes)
      ->type_name("FILE|MxNxK")
      ->required();
  command->add_option("--config", options->configs, help::kProbeConfig)
      ->type_name("LABEL[,LABEL...]")
      ->delimiter(',');
  command->add_option("--trace", options->trace, help::kTrace)->type_name("FILE");
  add_study_options(*command, options->study);
  command->callback([&chosen, options, command_line] {
    chosen = [options, command_line] { return run_probe_command(*options, command_line); };
  });
}

}  // namespace hgemm::cli
