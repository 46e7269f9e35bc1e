#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/resources.h"
#include "best/best.h"
#include "cli/aim.h"
#include "cli/commands.h"
#include "cli/devices.h"
#include "cli/help.h"
#include "cli/recorded.h"
#include "cli/report.h"
#include "cli/shapes.h"
#include "emit/replay.h"
#include "model/calibration.h"
#include "model/cost.h"
#include "space/space.h"

namespace hgemm::cli {
namespace {

struct BestOptions {
  std::string db = kDefaultDatabase;
  bool recorded = false;
  std::string shapes;
  AimOptions aim;
  bool predict = false;
  int max_kernels = 0;
  std::string format = "table";
};

/// All that was measured of each config and not of winners alone, in the regimes asked for.
std::vector<Truth> known_truths(const BestOptions& options, const Aim& aim) {
  if (aim.objective == Objective::kEnergy) {
    throw InputError("--objective energy: portfolios and predictions go by time only");
  }
  auto known = truths(options.recorded ? recorded_races("truth.db")
                                       : Store::open(options.db, Store::Mode::kReadOnly).races());
  std::erase_if(known, [&](const Truth& truth) {
    return std::ranges::find(aim.regimes, truth.regime) == aim.regimes.end();
  });
  if (known.empty()) {
    throw Error(fmt::format("no shape was measured to the end in {}", in_words(aim.regimes)));
  }
  return known;
}

int run_portfolio(const BestOptions& options, std::vector<Truth> known,
                  std::span<const Shape> shapes, Format format) {
  keep_shapes(known, shapes);
  if (known.empty()) throw Error("--max-kernels: none of these shapes was measured to the end");
  fmt::print("{}", format_portfolio(choose_portfolio(known, options.max_kernels), format));
  return 0;
}

/// For every GPU and regime that is known.
int run_predict(const BestOptions& options, const std::vector<Truth>& known,
                std::span<const Shape> shapes, Format format) {
  if (shapes.empty()) {
    throw InputError("--predict: for which shapes? Give --shapes, e.g. --shapes 3000x4096x5120");
  }
  const Space space = load_space("full", (resource_dir() / "configs").string());
  const std::vector<Device> devices = known_devices();
  std::vector<RecordedStudy> studies;
  if (!options.recorded) {
    studies = Store::open(options.db, Store::Mode::kReadOnly).studies(StudyKind::kMicro);
  }
  std::map<std::pair<std::string, Regime>, CostFigures> figures;
  for (const Truth& truth : known) {
    figures[{truth.environment.gpu_name, truth.regime}] =
        calibrated_figures(devices, truth.environment, truth.regime, studies);
  }
  std::vector<std::vector<KernelConfig>> candidates;
  for (const Shape& shape : shapes) {
    candidates.push_back(enumerate(space, {&shape, 1}).valid);
    std::erase_if(candidates.back(), [&](const auto& config) { return !suits(config, shape); });
  }
  std::vector<PredictedBest> predictions;
  std::vector<LeftOut> left_out;
  for (const auto& [conditions, of_gpu] : figures) {
    const auto& [gpu_name, regime] = conditions;
    const Predictor predictor = [&figures = of_gpu](const KernelConfig& config,
                                                    const Shape& shape) {
      return predict_cost(figures, config, shape).us();
    };
    std::vector<Truth> here;
    for (const Truth& truth : known) {
      if (truth.environment.gpu_name == gpu_name && truth.regime == regime) here.push_back(truth);
    }
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      predictions.push_back(
          predict_best(here, candidates[i], shapes[i], regime, gpu_name, predictor));
    }
    std::ranges::move(leave_one_out(here, predictor), std::back_inserter(left_out));
  }
  fmt::print("{}", format_predictions(predictions, left_out, format));
  return 0;
}

int run_best(const BestOptions& options) {
  const Format format = parse_format(options.format);
  const Aim aim = parse_aim_of_recorded(options.aim);
  std::vector<Shape> shapes;
  if (!options.shapes.empty()) shapes = chosen_shapes(options.shapes);
  if (!options.recorded && !std::filesystem::exists(options.db)) {
    throw InputError(
        fmt::format("there is no database {}; name one with --db, create it by tuning, or ask the "
                    "results that ship with the program with --recorded",
                    options.db));
  }
  if (options.predict) return run_predict(options, known_truths(options, aim), shapes, format);
  if (options.max_kernels > 0) {
    return run_portfolio(options, known_truths(options, aim), shapes, format);
  }
  auto races =
      options.recorded ? shipped_races() : Store::open(options.db, Store::Mode::kReadOnly).races();
  const bool has_races = !races.empty();
  auto rows = best_for(aim, races, shapes);
  if (has_races && races.empty() && !for_programs(format)) {
    fmt::print(
        "Nothing is recorded in {} yet. To measure on a Hopper GPU: hgemm-tune --shapes "
        "llama7b.yaml --regime {}\n",
        in_words(aim.regimes), to_string(aim.regimes.front()));
    return 0;
  }
  if (const int missing = without_energy(rows);
      aim.objective == Objective::kEnergy && missing > 0) {
    fmt::print(stderr,
               "energy was not measured for the best of {} shapes, which is by time; hgemm-tune "
               "--shapes ... --objective energy measures it\n",
               missing);
  }
  print_best(std::move(rows), format);
  return 0;
}

}  // namespace

void add_best(CLI::App& program, Command& chosen) {
  const auto options = std::make_shared<BestOptions>();
  CLI::App* command = program.add_subcommand("best", help::kBest)->footer(help::kBestExamples);
  CLI::Option* db =
      command->add_option("--db", options->db, help::kDb)->type_name("FILE")->capture_default_str();
  command->add_flag("--recorded", options->recorded, help::kRecorded)->excludes(db);
  command->add_option("--shapes", options->shapes, help::kShapes)->type_name("FILE|MxNxK");
  add_aim(*command, options->aim, "all that is recorded");
  CLI::Option* predict = command->add_flag("--predict", options->predict, help::kPredict);
  command->add_option("--max-kernels", options->max_kernels, help::kMaxKernels)
      ->type_name("K")
      ->check(CLI::Range(1, 1000))
      ->excludes(predict);
  command->add_option("--format", options->format, help::kBestFormat)
      ->type_name("FORMAT")
      ->capture_default_str();
  command->callback([&chosen, options] { chosen = [options] { return run_best(*options); }; });
}

}  // namespace hgemm::cli
