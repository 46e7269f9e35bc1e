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
#include "best/best.h"
#include "cli/commands.h"
#include "cli/database.h"
#include "cli/devices.h"
#include "cli/help.h"
#include "cli/recorded.h"
#include "cli/report.h"
#include "cli/shapes.h"
#include "emit/advice.h"
#include "model/advice.h"
#include "model/device.h"
#include "model/wgmma.h"
#include "store/store.h"

namespace hgemm::cli {
namespace {

namespace fs = std::filesystem;

struct AdviseOptions {
  std::string shapes;
  bool wgmma = false;
  bool devices = false;
  std::string device = "all";
  std::string db;  ///< empty: kDefaultDatabase, if it is there
  std::string format = "table";
};

/// The database of the user, if there is one: measured beside what ships with the program.
std::optional<Store> own_database(const AdviseOptions& options) {
  if (!options.db.empty()) require_database(options.db);
  const std::string path = options.db.empty() ? std::string(kDefaultDatabase) : options.db;
  if (!fs::exists(path)) return std::nullopt;
  return Store::open(path, Store::Mode::kReadOnly);
}

/// A database may hold what ships with the program too, merged into it.
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
    std::ranges::move(store.studies(StudyKind::kMicro), std::back_inserter(all));
  };
  for (const fs::path& path : recorded_databases("study.db")) {
    add(Store::open(path.string(), Store::Mode::kReadOnly));
  }
  if (own) add(*own);
  return all;
}

/// For each shape its row in the sustained regime, else in burst; none if no config of ours was
/// timed there, nor cublas.
std::vector<AdvisedShape> advised(const Device& device, const std::vector<Shape>& shapes,
                                  const std::vector<RecordedRace>& races) {
  std::vector<RecordedRace> here;
  std::ranges::copy_if(races, std::back_inserter(here), [&device](const RecordedRace& race) {
    return device.is(race.environment.gpu_name);
  });
  std::vector<BestRow> rows;
  if (!here.empty()) rows = best_rows(here, shapes);
  std::vector<AdvisedShape> result;
  for (const Shape& shape : shapes) {
    AdvisedShape one{
        .advice = advise(device, shape), .measured = {}, .swap = measured_swap(here, shape)};
    const auto row = std::ranges::find_if(rows, [&shape](const BestRow& candidate) {
      return candidate.shape.same_problem(shape) && (candidate.time_us || candidate.cublas_time_us);
    });
    if (row != rows.end()) one.measured = *row;
    result.push_back(std::move(one));
  }
  return result;
}

/// The model is one of wgmma: its figures would be wrong for a type that wgmma does not take.
/// Shapes of other extents than the kernel's are fine.
void require_wgmma_types(const std::vector<Shape>& shapes) {
  for (const Shape& shape : shapes) {
    const Rule rule = why_invalid(KernelConfig{.dtype = shape.dtype});
    if (rule != Rule::kDtype) continue;
    throw InputError(fmt::format("no advice on {}: {}", to_string(shape), rule_text(rule).reason));
  }
}

int run_advise(const AdviseOptions& options) {
  const Format format = parse_format(options.format);
  const int views = !options.shapes.empty() + options.wgmma + options.devices;
  if (views != 1) {
    throw InputError(
        "advise answers one question at a time: name shapes with --shapes FILE|MxNxK, or ask for "
        "--wgmma (the latency model) or --devices (the figures it rests on)");
  }
  const auto devices = choose_devices(known_devices(), options.device);
  std::string text;
  if (options.devices) {
    text = format_devices(devices, format);
  } else if (options.wgmma) {
    text = format_wgmma(devices, measured_wgmma(all_micro_studies(own_database(options))), format);
  } else {
    const std::vector<Shape> shapes = chosen_shapes(options.shapes);
    require_wgmma_types(shapes);
    const std::vector<RecordedRace> races = all_races(own_database(options));
    std::vector<DeviceAdvice> blocks;
    for (const Device& device : devices) {
      blocks.push_back({.device = device, .shapes = advised(device, shapes, races)});
    }
    text = format_advice(blocks, format);
  }
  fmt::print("{}", text);
  return 0;
}

}  // namespace

void add_advise(CLI::App& program, Command& chosen) {
  const auto options = std::make_shared<AdviseOptions>();
  CLI::App* command =
      program.add_subcommand("advise", help::kAdvise)->footer(help::kAdviseExamples);
  command->add_option("--shapes", options->shapes, help::kShapes)->type_name("FILE|MxNxK");
  command->add_flag("--wgmma", options->wgmma, help::kAdviseWgmma);
  command->add_flag("--devices", options->devices, help::kAdviseDevices);
  command->add_option("--device", options->device, help::kAdviseDevice)
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--db", options->db, help::kAdviseDb)->type_name("FILE");
  command->add_option("--format", options->format, help::kBestFormat)
      ->type_name("FORMAT")
      ->capture_default_str();
  command->callback([&chosen, options] { chosen = [options] { return run_advise(*options); }; });
}

}  // namespace hgemm::cli
