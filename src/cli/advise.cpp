#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/resources.h"
#include "cli/commands.h"
#include "gemm/codec.h"
#include "kernels/common/extents.h"
#include "program/database.h"
#include "program/devices.h"
#include "program/help.h"
#include "program/recorded.h"
#include "program/report.h"
#include "program/shapes.h"
#include "program/table_options.h"
#include "results/best.h"
#include "search/devices.h"
#include "store/store.h"
#include "studies/advise/advice.h"
#include "studies/advise/table.h"
#include "studies/advise/wgmma.h"
#include "studies/micro/points.h"

namespace hgemm::cli {
namespace {

namespace fs = std::filesystem;

struct AdviseOptions {
  ShapeOptions problems;
  bool wgmma = false;
  bool devices = false;
  std::string device = "all";
  std::string db;  ///< empty: kDefaultDatabase, if it is there
  std::string format = "table";
  TableOptions tables = {.only_tables = true};
};

/// The user's database, if there is one. It is used beside the results that ship with the program.
std::optional<Store> own_database(const AdviseOptions& options) {
  if (!options.db.empty()) require_database(options.db);
  const std::string path = options.db.empty() ? std::string(kDefaultDatabase) : options.db;
  if (!fs::exists(path)) return std::nullopt;
  return Store::open(path, Store::Mode::kReadOnly);
}

/// Each race once: results that ship with the program may also have been merged into the database.
std::vector<RecordedRace> all_races(const std::optional<Store>& own) {
  std::vector<RecordedRace> all = shipped_races();
  std::set<std::string> known;
  for (const RecordedRace& race : all) known.insert(race.uid);
  if (own) {
    for (RecordedRace& race : own->races()) {
      if (known.insert(race.uid).second) all.push_back(std::move(race));
    }
  }
  std::ranges::stable_sort(all, {}, &RecordedRace::started_utc);
  return all;
}

std::vector<RecordedStudy> all_micro_studies(const std::optional<Store>& own) {
  std::vector<RecordedStudy> all;
  const auto add = [&all](const Store& store) {
    std::ranges::move(store.studies(kMicroStudy), std::back_inserter(all));
  };
  for (const fs::path& path : recorded_databases("study.db")) {
    add(Store::open(path.string(), Store::Mode::kReadOnly));
  }
  if (own) add(*own);
  return all;
}

/// Each shape's row in the sustained regime, or else in burst. A shape has no row if neither a
/// config of this program nor cuBLAS was timed on the device.
std::vector<AdvisedShape> advised(const Device& device, const std::vector<GemmProblem>& problems,
                                  const std::vector<RecordedRace>& races) {
  std::vector<RecordedRace> here;
  std::ranges::copy_if(races, std::back_inserter(here), [&device](const RecordedRace& race) {
    return device.is(race.environment.gpu_name);
  });
  std::vector<BestRow> rows;
  if (!here.empty()) rows = best_rows(here, problems);
  std::vector<AdvisedShape> result;
  for (const GemmProblem& problem : problems) {
    AdvisedShape one{
        .advice = advise(device, problem), .measured = {}, .swap = measured_swap(here, problem)};
    const auto row = std::ranges::find_if(rows, [&problem](const BestRow& candidate) {
      return candidate.problem.same_problem(problem) &&
             (candidate.time_us || candidate.cublas_time_us);
    });
    if (row != rows.end()) one.measured = *row;
    result.push_back(std::move(one));
  }
  return result;
}

/// The model describes wgmma, so its figures would be wrong for a type that wgmma does not take.
/// Extents that the kernels cannot compute are fine.
void require_wgmma_types(const std::vector<GemmProblem>& problems) {
  for (const GemmProblem& problem : problems) {
    if (types_are_supported(problem.kind())) continue;
    throw InputError(fmt::format("no advice on {}: {}", to_string(problem), kTypesRule.reason));
  }
}

int run_advise(const AdviseOptions& options) {
  const Style style = style_of(options.tables, parse_format(options.format));
  const int views = !options.problems.empty() + options.wgmma + options.devices;
  if (views != 1) {
    throw InputError(
        "advise answers one question at a time: name shapes with --shapes FILE|MxNxK, or ask for "
        "--wgmma (the latency model) or --devices (the figures it rests on)");
  }
  const auto devices = choose_devices(known_devices(), options.device);
  std::string text;
  if (options.devices) {
    text = format_devices(devices, style);
  } else if (options.wgmma) {
    text = format_wgmma(devices, measured_wgmma(all_micro_studies(own_database(options))), style);
  } else {
    const std::vector<GemmProblem> problems = chosen_problems(options.problems);
    require_wgmma_types(problems);
    const std::vector<RecordedRace> races = all_races(own_database(options));
    std::vector<DeviceAdvice> blocks;
    for (const Device& device : devices) {
      blocks.push_back({.device = device, .problems = advised(device, problems, races)});
    }
    text = format_advice(blocks, style);
  }
  fmt::print("{}", text);
  return 0;
}

}  // namespace

void add_advise(CLI::App& program, Command& chosen) {
  const auto options = std::make_shared<AdviseOptions>();
  CLI::App* command = add_command(program, "advise");
  add_shapes(*command, options->problems);
  command->add_flag("--wgmma", options->wgmma, help_text("advise", "--wgmma"));
  command->add_flag("--devices", options->devices, help_text("advise", "--devices"));
  command->add_option("--device", options->device, help_text("advise", "--device"))
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--db", options->db, help_text("advise", "--db"))->type_name("FILE");
  command->add_option("--format", options->format, help_text("common", "--format"))
      ->type_name("FORMAT")
      ->capture_default_str();
  add_table_options(*command, options->tables);
  command->callback([&chosen, options] { chosen = [options] { return run_advise(*options); }; });
}

}  // namespace hgemm::cli
