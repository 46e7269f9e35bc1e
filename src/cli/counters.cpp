#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "base/error.h"
#include "bench/counters.h"
#include "best/best.h"
#include "cli/aim.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/recorded.h"
#include "cli/report.h"
#include "cli/shapes.h"
#include "cli/studies.h"
#include "compile/compiler.h"
#include "compile/source.h"
#include "emit/counters.h"
#include "gpu/device.h"
#include "space/label.h"
#include "store/store.h"
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

/// What tuning found best at each shape: in the database of this command, else in the results that
/// ship with the program. Rows of shapes that neither knows have no label.
class Tuned {
 public:
  explicit Tuned(const CountersOptions& options) {
    const std::string db = options.study.db.value_or(kDefaultDatabase);
    if (!options.study.recorded && std::filesystem::exists(db)) {
      sources_.push_back(Store::open(db, Store::Mode::kReadOnly).races());
    }
    sources_.push_back(shipped_races());
  }

  BestRow best(const Shape& shape) const {
    BestRow row;
    row.shape = shape;
    for (const auto& races : sources_) {
      // At full load where it was measured, else in burst.
      for (BestRow& known : best_rows(races, {&shape, 1})) {
        if (!row.label && known.label) row = std::move(known);
      }
    }
    return row;
  }

 private:
  std::vector<std::vector<RecordedRace>> sources_;
};

StudyRequest request_for(const std::string& label, const Shape& shape) {
  StudyRequest request;
  request.kind = StudyKind::kCounters;
  request.label = label;
  request.shape = shape;
  if (const auto step = parse_ladder_label(label)) {
    request.source = ladder_source(*step);
  } else if (!is_baseline(label)) {
    request.source = kernel_source(parse_label(label));
  }
  return request;
}

/// Baselines compute any type.
bool computes(const std::string& label, Dtype dtype) {
  if (is_baseline(label)) return true;
  if (const auto step = parse_ladder_label(label)) return step->dtype == dtype;
  return parse_label(label).dtype == dtype;
}

void check_config(const std::string& label) {
  if (is_baseline(label) || parse_ladder_label(label)) return;
  const Rule rule = why_invalid(parse_label(label));
  if (rule == Rule::kValid) return;
  throw InputError(fmt::format("--config {}: the kernel cannot run it: {} (rule {})", label,
                               rule_text(rule).reason, rule_text(rule).name));
}

std::vector<StudyRequest> make_requests(const CountersOptions& options) {
  for (const std::string& label : options.configs) check_config(label);
  std::optional<Tuned> tuned;
  if (options.configs.empty() || options.cublaslt) tuned.emplace(options);

  std::vector<StudyRequest> requests;
  for (const Shape& shape : chosen_shapes(options.shapes)) {
    std::vector<std::string> labels;
    const auto add = [&](const std::string& label) {
      if (std::ranges::find(labels, label) == labels.end()) labels.push_back(label);
    };
    for (const std::string& label : options.configs) {
      if (computes(label, shape.dtype)) add(label);
    }
    if (!options.configs.empty() && labels.empty()) {
      throw InputError(fmt::format("shape {}: none of --config is for {}", to_string(shape),
                                   to_string(shape.dtype)));
    }
    const BestRow best = tuned ? tuned->best(shape) : BestRow{};
    if (options.configs.empty()) {
      if (best.label) {
        add(*best.label);
      } else {
        fmt::print(stderr,
                   "{}: no best config is known; tune it first, or name one with --config\n",
                   to_string(shape));
      }
    }
    add(std::string(kCublasLabel));
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
        if (const char* why = why_unsupported(shape.m, shape.n, shape.k)) {
          throw InputError(fmt::format("shape {}: {}", to_string(shape), why));
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
  try {
    return study(options.study, requests, command_line);
  } catch (const InputError& error) {
    const std::string why = error.what();
    if (!why.starts_with(kCountersUnavailable)) throw;
    if (options.study.require_gpu) throw Error(why);
    StudyOptions recorded = options.study;
    recorded.recorded = true;
    recorded.why_recorded = fmt::format("{}.", why);
    recorded.why_recorded.front() = 'H';
    return study(recorded, requests, command_line);
  }
}

int run_counters_command(const CountersOptions& options, const std::string& command_line) {
  const Format format = parse_format(options.study.format);
  if (options.shapes.empty()) throw InputError("counters needs --shapes");
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
  if (!request.source.empty()) {
    CompileOptions options;
    options.cache_dir = default_cache_dir();
    const StudySource source{request.label, request.source};
    compile_sources({&source, 1}, options, [&cubin](std::size_t, const Build& build) {
      if (build.status != Status::kOk) throw Error(build.message);
      cubin = build.cubin;
    });
  }
  const Device device = open_device();
  launch_for_profiler(request, cubin, {device, nullptr, nullptr});
  return 0;
}

}  // namespace

void add_counters(CLI::App& program, Command& chosen, const std::string& command_line) {
  const auto options = std::make_shared<CountersOptions>();
  CLI::App* command =
      program.add_subcommand("counters", help::kCounters)->footer(help::kCountersExamples);
  command->add_option("--shapes", options->shapes, help::kShapes)->type_name("FILE|MxNxK");
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
