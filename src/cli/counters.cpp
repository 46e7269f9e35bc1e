#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/error.h"
#include "bench/counters.h"
#include "best/best.h"
#include "cli/commands.h"
#include "cli/configs.h"
#include "cli/help.h"
#include "cli/shapes.h"
#include "cli/studies.h"
#include "cli/tuned.h"
#include "compile/compiler.h"
#include "compile/source.h"
#include "emit/counters.h"
#include "gpu/device.h"
#include "space/label.h"
#include "space/space.h"
#include "study/counter_set.h"
#include "study/ladder.h"

namespace hgemm::cli {
namespace {

struct CountersOptions {
  std::string shapes;
  std::vector<std::string> configs;
  bool cublaslt = false;
  StudyOptions study;
};

StudyRequest request_for(const std::string& label, const Shape& shape) {
  StudyRequest request;
  request.kind = StudyKind::kCounters;
  request.label = label;
  request.shape = shape;
  if (const auto step = parse_ladder_label(label)) {
    request.sources = {{label, ladder_source(*step)}};
  } else if (!is_baseline(label)) {
    request.sources = {{label, kernel_source(parse_label(label))}};
  }
  return request;
}

/// Baselines compute anything.
bool is_made_for(const std::string& label, const Shape& shape) {
  if (is_baseline(label)) return true;
  if (const auto step = parse_ladder_label(label)) return step->dtype == shape.dtype;
  return is_made_for(parse_label(label), shape);
}

void check_config(const std::string& label) {
  if (!is_baseline(label) && !parse_ladder_label(label)) chosen_config(label);
}

std::vector<StudyRequest> make_requests(const CountersOptions& options) {
  for (const std::string& label : options.configs) check_config(label);
  std::optional<Tuned> tuned;
  if (options.configs.empty() || options.cublaslt) tuned.emplace(options.study);

  std::vector<StudyRequest> requests;
  for (const Shape& shape : chosen_shapes(options.shapes)) {
    std::vector<std::string> labels;
    const auto add = [&](const std::string& label) {
      if (std::ranges::find(labels, label) == labels.end()) labels.push_back(label);
    };
    for (const std::string& label : options.configs) {
      if (is_made_for(label, shape)) add(label);
    }
    if (!options.configs.empty() && labels.empty()) {
      throw InputError(
          fmt::format("shape {}: none of --config is made for it (they are for other types or "
                      "problems)",
                      to_string(shape)));
    }
    if (options.configs.empty()) add(tuned->winner(shape));
    add(std::string(kCublasLabel));
    const BestRow best = options.cublaslt ? tuned->best(shape) : BestRow{};
    if (options.cublaslt && !best.cublaslt_label.empty()) {
      add(best.cublaslt_label);
    } else if (options.cublaslt) {
      fmt::print(stderr,
                 "{}: no cuBLASLt algorithm was measured to the end; name one with "
                 "--config {}0\n",
                 to_string(shape), kCublasLtPrefix);
    }
    for (const std::string& label : labels) {
      if (!is_baseline(label) && !parse_ladder_label(label)) {
        if (const char* why = why_unsupported(parse_label(label), shape)) {
          throw InputError(fmt::format("{} cannot compute {}: {}", label, to_string(shape), why));
        }
      }
      requests.push_back(request_for(label, shape));
    }
  }
  return requests;
}

/// Where no counter can be read, what was recorded elsewhere is the answer, as without a GPU.
StudyAnswer read_counters(const CountersOptions& options, std::span<const StudyRequest> requests,
                          const std::string& command_line) {
  StudyOptions how = options.study;
  how.any_config = options.configs.empty();
  try {
    return study(how, requests, command_line);
  } catch (const InputError& error) {
    const std::string why = error.what();
    if (!why.starts_with(kCountersUnavailable)) throw;
    if (how.require_gpu) throw Error(why);
    how.recorded = true;
    how.why_recorded = fmt::format("{}.", why);
    how.why_recorded.front() = 'H';
    return study(how, requests, command_line);
  }
}

int run_counters_command(const CountersOptions& options, const std::string& command_line) {
  const Format format = parse_format(options.study.format);
  const std::vector<StudyRequest> requests = make_requests(options);
  const StudyAnswer answer = read_counters(options, requests, command_line);
  if (answer.stopped) return answer.exit_code;
  print_first_line(answer, format);
  fmt::print("{}", format_counters(answer.studies, format));
  return answer.exit_code;
}

/// One launch for another profiler: scripts/check_counters.sh runs it under ncu.
int run_launch(const std::string& shape_text, const std::string& label) {
  const std::vector<Shape> shapes = chosen_shapes(shape_text);
  if (shapes.size() != 1) throw InputError("launch takes one shape");
  check_config(label);
  const StudyRequest request = request_for(label, shapes.front());
  std::filesystem::path cubin;
  if (!request.sources.empty()) {
    CompileOptions options;
    options.cache_dir = default_cache_dir();
    compile_sources(request.sources, options, [&cubin](std::size_t, const Build& build) {
      if (build.status != Status::kOk) throw Error(build.message);
      cubin = build.cubin;
    });
  }
  const Gpu device = open_device();
  launch_for_profiler(request, cubin, {device, nullptr, nullptr});
  return 0;
}

}  // namespace

void add_counters(CLI::App& program, Command& chosen, const std::string& command_line) {
  const auto options = std::make_shared<CountersOptions>();
  CLI::App* command =
      program.add_subcommand("counters", help::kCounters)->footer(help::kCountersExamples);
  command->add_option("--shapes", options->shapes, help::kShapes)
      ->type_name("FILE|MxNxK")
      ->required();
  command->add_option("--config", options->configs, help::kCountersConfig)
      ->type_name("LABEL[,LABEL...]")
      ->delimiter(',');
  command->add_flag("--cublaslt", options->cublaslt, help::kCountersCublasLt);
  add_study_options(*command, options->study);
  command->callback([&chosen, options, command_line] {
    chosen = [options, command_line] { return run_counters_command(*options, command_line); };
  });

  CLI::App* launch = program.add_subcommand("launch")->group("");
  const auto shape = std::make_shared<std::string>();
  const auto label = std::make_shared<std::string>(kCublasLabel);
  launch->add_option("--shapes", *shape)->required();
  launch->add_option("--config", *label);
  launch->callback(
      [&chosen, shape, label] { chosen = [shape, label] { return run_launch(*shape, *label); }; });
}

}  // namespace hgemm::cli
