#include "program/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "output/prediction.h"
#include "program/current.h"
#include "program/devices.h"
#include "program/recorded.h"
#include "results/prediction.h"
#include "search/calibration.h"
#include "store/store.h"
#include "studies/micro/points.h"

namespace hgemm::cli {
namespace {

/// Sources of the answers: races of winners, races of whole spaces (a database has one set for
/// both), builds, and the studies that calibrate the cost model.
struct Sources {
  std::vector<RecordedRace> tuned, whole;
  std::vector<BuildFacts> builds;
  std::vector<RecordedStudy> studies;
};

Sources sources_of(const std::optional<std::string>& db) {
  if (!db) {
    auto [races, builds] = shipped_results();
    return {std::move(races), recorded_races("truth.db"), std::move(builds), {}};
  }
  const Store store = Store::open(*db, Store::Mode::kReadOnly);
  auto races = store.races();
  return {races, races, store.builds(), store.studies(kMicroStudy)};
}

/// Measured and verified rows of a regime, at most one for each problem.
std::vector<BestRow> measured_in(Regime regime, const Sources& sources,
                                 std::span<const GemmProblem> problems) {
  const IsCurrent is_current = current_among(sources.builds);
  std::vector<BestRow> measured;
  for (const auto* races : {&sources.tuned, &sources.whole}) {
    for (BestRow& row : best_rows(*races, problems, Objective::kTime, is_current)) {
      if (row.regime != regime || !row.label || !row.verified) continue;
      // A screened result has no load before it that sets the clock of this regime.
      if (row.stage != Stage::kFinal) continue;
      const auto same = [&row](const BestRow& other) {
        return other.problem.same_problem(row.problem);
      };
      if (std::ranges::none_of(measured, same)) measured.push_back(std::move(row));
    }
  }
  return measured;
}

/// Predictions for each GPU that has rows in the regime.
struct OfGpu {
  std::string gpu_name;
  Predictions predictions;
};
std::vector<OfGpu> predictions_in(Regime regime, const Sources& sources) {
  std::vector<std::pair<std::string, std::vector<Truth>>> by_gpu;
  for (Truth& truth : truths(sources.whole)) {
    if (truth.regime != regime || !truth.problem.data.is_normal()) continue;
    const std::string& name = truth.environment.gpu_name;
    auto known =
        std::ranges::find_if(by_gpu, [&name](const auto& gpu) { return gpu.first == name; });
    if (known == by_gpu.end()) known = by_gpu.insert(known, {name, {}});
    known->second.push_back(std::move(truth));
  }
  const std::vector<Device> devices = known_devices();
  std::vector<OfGpu> all;
  for (auto& [name, known] : by_gpu) {
    const CostFigures figures =
        calibrated_figures(devices, known.back().environment, regime, sources.studies);
    const Predictor predictor = [figures](const KernelConfig& config, const GemmProblem& problem) {
      return predict_cost(figures, config, problem).us();
    };
    all.push_back({name, Predictions(std::move(known), predictor)});
  }
  return all;
}

Outlook unknown(Regime regime, const GemmProblem& problem) {
  Outlook outlook{.regime = regime, .gpu_name = {}, .measured = {}, .prediction = {}};
  outlook.prediction.problem = problem;
  outlook.prediction.refusal =
      fmt::format("nothing was measured to the end in {}; tune it", to_string(regime));
  return outlook;
}

}  // namespace

void print_predictions(const std::optional<std::string>& db, const Aim& aim,
                       std::span<const GemmProblem> problems, const Style& style) {
  if (problems.empty()) {
    throw InputError("--predict: for which shapes? Give --shapes, e.g. --shapes 3000x4096x5120");
  }
  if (aim.objective == Objective::kEnergy) {
    throw InputError("--objective energy: predictions go by time only");
  }
  Sources sources = sources_of(db);
  keep_allowed(sources.tuned, aim.allowed);
  keep_allowed(sources.whole, aim.allowed);
  std::vector<Outlook> outlooks;
  std::vector<OutlookErrors> errors;
  for (const Regime regime : aim.regimes) {
    const std::vector<BestRow> measured = measured_in(regime, sources, problems);
    const std::vector<OfGpu> of_gpus = predictions_in(regime, sources);
    for (const GemmProblem& problem : problems) {
      const auto known = std::ranges::find_if(
          measured, [&problem](const BestRow& row) { return row.problem.same_problem(problem); });
      if (known != measured.end()) {
        Outlook outlook{.regime = regime,
                        .gpu_name = known->environment.gpu_name,
                        .measured = *known,
                        .prediction = {}};
        outlook.prediction.problem = problem;
        outlooks.push_back(std::move(outlook));
        continue;
      }
      if (of_gpus.empty()) outlooks.push_back(unknown(regime, problem));
      for (const OfGpu& gpu : of_gpus) {
        outlooks.push_back({.regime = regime,
                            .gpu_name = gpu.gpu_name,
                            .measured = {},
                            .prediction = gpu.predictions.of(problem)});
      }
    }
    for (const OfGpu& gpu : of_gpus) {
      for (auto& of_class : gpu.predictions.errors()) {
        errors.push_back({regime, gpu.gpu_name, std::move(of_class)});
      }
    }
  }
  std::ranges::stable_sort(outlooks, {}, [&problems](const Outlook& outlook) {
    return std::ranges::find_if(problems,
                                [&outlook](const GemmProblem& problem) {
                                  return problem.same_problem(outlook.problem());
                                }) -
           problems.begin();
  });
  fmt::print("{}", format_outlooks(outlooks, errors, style));
}

}  // namespace hgemm::cli
