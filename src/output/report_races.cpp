// The sections that come from races: the best of each problem, and one race at full load.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/statistics.h"
#include "gemm/codec.h"
#include "output/emit.h"
#include "output/report_parts.h"
#include "results/best.h"

namespace hgemm::report {
namespace {

Json tflops(const GemmProblem& problem, const std::optional<double>& time_us) {
  return time_us ? number(problem.flops() / *time_us * 1e-6) : Json();
}

const char* name_of(Stage stage) {
  return stage == Stage::kFinal ? "final" : stage == Stage::kScreen ? "screen" : "none";
}

/// Rows and their JSON have the same order.
Json rows_json(std::span<const BestRow> rows) {
  Json list = Json::parse(format_best(rows, Format::kJson));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const BestRow& row = rows[i];
    list[i].update(Json{{"shape", to_string(row.problem)},
                        {"group", group_of(row.problem)},
                        {"intensity", row.problem.intensity()},
                        {"cublas_tflops", tflops(row.problem, row.cublas_time_us)},
                        {"cublaslt_tflops", tflops(row.problem, row.cublaslt_time_us)},
                        {"stage", name_of(row.stage)},
                        {"kernel", row.run.short_kernel_sources()},
                        {"started_utc", row.started_utc}});
  }
  return list;
}

/// Below the ridge memory bounds, and the clock says nothing about the tensor cores.
bool bound_by_tensor_cores(const BestRow& row, const Device& device) {
  return row.sm_mhz && row.label && row.problem.intensity() >= device.ridge();
}

Json ceilings(std::span<const BestRow> rows, const Device* device) {
  Json list = Json::array();
  if (device == nullptr) return list;
  for (const Regime regime : {Regime::kSustained, Regime::kBurst}) {
    std::vector<double> mhz;
    for (const BestRow& row : rows) {
      if (row.regime == regime && bound_by_tensor_cores(row, *device)) mhz.push_back(*row.sm_mhz);
    }
    if (mhz.empty()) continue;
    const double clock = median(mhz);
    const double flops_per_clk = device->sms.value * device->flops_per_sm_clk(MmaInput::kBf16);
    list.push_back({{"regime", to_string(regime)},
                    {"sm_mhz", clock},
                    {"tflops", flops_per_clk * clock * 1e-6},
                    {"shapes", mhz.size()}});
  }
  return list;
}

/// What a study measured memory to give, of all ways to read it the best.
std::optional<double> measured_read_tbps(std::span<const RecordedStudy> studies) {
  std::optional<double> best;
  for (const RecordedStudy& recorded : studies) {
    if (recorded.study.kind != "micro" || recorded.study.label.find(".hbm.") == std::string::npos) {
      continue;
    }
    for (const Figure& figure : recorded.study.figures) {
      if (figure.unit == "TB/s" && (!best || figure.value > *best)) best = figure.value;
    }
  }
  return best;
}

const RecordedRace* race_of(const BestRow& row, std::span<const RecordedRace> races) {
  const auto race = std::ranges::find_if(races, [&row](const RecordedRace& candidate) {
    return candidate.started_utc == row.started_utc && candidate.race.regime == row.regime &&
           candidate.race.problem.same_problem(row.problem);
  });
  return race == races.end() ? nullptr : &*race;
}

const Trial* find_trial(const Race& race, std::string_view label) {
  const auto trial = std::ranges::find(race.trials, label, &Trial::label);
  return trial == race.trials.end() ? nullptr : &*trial;
}

int own_samples(const Trial* trial) {
  if (trial == nullptr) return 0;
  return static_cast<int>(std::ranges::count_if(trial->samples, [](const Sample& sample) {
    return sample.pace == Pace::kOwn && sample.power_w;
  }));
}

Json samples_json(const Trial& trial) {
  Json list = Json::array();
  for (const Sample& sample : trial.samples) {
    list.push_back(
        {{"round", sample.round},
         {"pace", to_string(sample.pace)},
         {"launches", sample.launches},
         {"time_us", sample.time_us},
         {"sm_mhz", sample.sm_mhz},
         {"power_w", number(sample.power_w)},
         {"temperature_c", sample.temperature_c ? Json(*sample.temperature_c) : Json()}});
  }
  return list;
}

}  // namespace

Json best_section(const Known& known) {
  std::vector<BestRow> rows = best_rows(known.races);
  std::erase_if(rows, [](const BestRow& row) { return !row.label; });
  if (rows.empty()) {
    return missing("No verified kernel was recorded at any shape.",
                   "hgemm-tune --shapes square.yaml --regime both");
  }
  Source source;
  for (const BestRow& row : rows) {
    if (const RecordedRace* race = race_of(row, known.races)) source.add(*race);
  }
  Json json{{"source", source.json()},
            {"rows", rows_json(rows)},
            {"ceilings", ceilings(rows, known.device)}};
  const auto measured = measured_read_tbps(known.studies);
  if (known.device != nullptr && known.device->read_tbps) {
    json["read_tbps"] = known.device->read_tbps->value;
    json["read_source"] = known.device->read_tbps->source;
  } else {
    json["read_tbps"] = number(measured);
    json["read_source"] = measured ? Json("micro, the best way to read memory") : Json();
  }
  return json;
}

Json sustained_section(const Known& known) {
  // The largest GEMM whose winner and cublas had windows of their own, in its newest race.
  const RecordedRace* chosen = nullptr;
  BestRow winner;
  for (const RecordedRace& race : known.races) {
    if (race.race.regime != Regime::kSustained ||
        own_samples(find_trial(race.race, kCublasLabel)) == 0 ||
        (chosen != nullptr && race.race.problem.flops() < chosen->race.problem.flops())) {
      continue;
    }
    const auto rows = best_rows({&race, 1});
    if (rows.empty() || !rows.front().label) continue;
    if (own_samples(find_trial(race.race, *rows.front().label)) == 0) continue;
    chosen = &race;
    winner = rows.front();
  }
  if (chosen == nullptr) {
    return missing("No race was recorded whose samples reached the power cap.",
                   "hgemm-tune --shapes 8192x8192x8192 --regime sustained");
  }
  Source source;
  source.add(*chosen);
  Json candidates = Json::array();
  const auto add = [&](const char* who, const std::string& label) {
    const Trial* trial = find_trial(chosen->race, label);
    if (trial == nullptr) return;
    candidates.push_back({{"who", who}, {"label", label}, {"samples", samples_json(*trial)}});
  };
  add("ours", *winner.label);
  add("cublas", std::string(kCublasLabel));
  if (!winner.cublaslt_label.empty()) add("cublaslt", winner.cublaslt_label);
  return {
      {"source", source.json()},
      {"shape", to_string(chosen->race.problem)},
      {"power_limit_w",
       chosen->environment.power_limit_w > 0 ? Json(chosen->environment.power_limit_w) : Json()},
      {"candidates", candidates}};
}

}  // namespace hgemm::report
