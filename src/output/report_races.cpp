// The sections made from races: the best of each problem, and one race at full load.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/statistics.h"
#include "families/family.h"
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

constexpr std::array kPdlKinds = {PdlKind::kOff, PdlKind::kSafe, PdlKind::kWeights};

/// The races, reduced to the configs of some PDL kinds; baselines stay.
class RacesByKind {
 public:
  explicit RacesByKind(std::span<const RecordedRace> races) : races_(races) {
    for (const RecordedRace& race : races) {
      for (const Trial& trial : race.race.trials) {
        if (is_baseline(trial.label) || kinds_.contains(trial.label)) continue;
        const auto config = find_config(trial.label);
        if (config) kinds_[trial.label] = pdl_kind(*config);
      }
    }
  }

  std::vector<RecordedRace> with(PdlKind first, PdlKind last) const {
    std::vector<RecordedRace> kept;
    for (const RecordedRace& race : races_) {
      RecordedRace& copy = kept.emplace_back(race);
      std::erase_if(copy.race.trials, [&](const Trial& trial) {
        if (is_baseline(trial.label)) return false;
        const auto kind = kinds_.find(trial.label);
        return kind == kinds_.end() || kind->second < first || kind->second > last;
      });
    }
    return kept;
  }

 private:
  std::span<const RecordedRace> races_;
  std::map<std::string, PdlKind> kinds_;
};

std::vector<BestRow> rows_with_winner(std::span<const RecordedRace> races) {
  std::vector<BestRow> rows = best_rows(races);
  std::erase_if(rows, [](const BestRow& row) { return !row.label; });
  return rows;
}

bool is_same_result(const BestRow& a, const BestRow& b) {
  return a.label == b.label && a.started_utc == b.started_utc && a.regime == b.regime &&
         a.problem.same_problem(b.problem);
}

/// A row of the report, and the allowed PDL kinds for which it is the answer.
struct Answer {
  BestRow row;
  std::vector<std::string> levels;
};

/// For each problem and regime: the best with no PDL, with `safe` allowed, and with all kinds
/// allowed (the answer of `best`); also the best config of each kind. In the order of `best`.
std::vector<Answer> answers_of(std::span<const RecordedRace> races) {
  const RacesByKind by_kind(races);
  std::vector<Answer> found;
  const auto add = [&found](const std::vector<BestRow>& rows, std::string_view level) {
    for (const BestRow& row : rows) {
      auto known = std::ranges::find_if(
          found, [&row](const Answer& answer) { return is_same_result(answer.row, row); });
      if (known == found.end()) known = found.insert(known, {row, {}});
      if (!level.empty()) known->levels.emplace_back(level);
    }
  };
  const std::vector<BestRow> all = rows_with_winner(races);
  for (const PdlKind level : kPdlKinds) {
    const bool whole = level == PdlKind::kWeights;
    add(whole ? all : rows_with_winner(by_kind.with(PdlKind::kOff, level)), to_string(level));
  }
  for (const PdlKind kind : kPdlKinds) add(rows_with_winner(by_kind.with(kind, kind)), "");

  const auto row_of_all = [&all](const Answer& answer) {
    return std::ranges::find_if(all, [&answer](const BestRow& candidate) {
      return candidate.regime == answer.row.regime &&
             candidate.problem.same_problem(answer.row.problem);
    });
  };
  for (Answer& answer : found) {
    // A row of one kind comes from races that were reduced to the configs of this kind.
    const auto row = row_of_all(answer);
    if (answer.row.without_pdl || row == all.end()) continue;
    if (row->environment == answer.row.environment) answer.row.without_pdl = row->without_pdl;
  }
  const auto place = [&](const Answer& answer) {
    return std::pair{row_of_all(answer) - all.begin(), pdl_kind(parse_label(*answer.row.label))};
  };
  std::ranges::stable_sort(found, {}, place);
  return found;
}

/// The index of the race of a row among the races whose configs are in the report.
using RaceIndex = std::function<std::optional<std::size_t>(const BestRow&)>;

int operand_bits(const GemmProblem& problem) { return 8 * element_bytes(problem.a_type); }

/// Rows and their JSON are in the same order.
Json rows_json(std::span<const Answer> answers, const RaceIndex& race_index) {
  std::vector<BestRow> rows;
  for (const Answer& answer : answers) rows.push_back(answer.row);
  Json list = Json::parse(format_best(rows, Format::kJson));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const BestRow& row = rows[i];
    const auto race = race_index(row);
    list[i].update(Json{{"shape", to_string(row.problem)},
                        {"group", group_of(row.problem)},
                        {"operand_bits", operand_bits(row.problem)},
                        {"intensity", row.problem.intensity()},
                        {"cublas_tflops", tflops(row.problem, row.cublas_time_us)},
                        {"cublaslt_tflops", tflops(row.problem, row.cublaslt_time_us)},
                        {"stage", name_of(row.stage)},
                        {"kernel", row.run.short_kernel_sources()},
                        {"started_utc", row.started_utc},
                        {"levels", answers[i].levels},
                        {"race", race ? Json(*race) : Json()}});
  }
  return list;
}

/// Below the ridge, memory is the bound, and the clock says nothing about the tensor cores.
bool bound_by_tensor_cores(const BestRow& row, const Device& device) {
  return row.sm_mhz && row.label && row.problem.intensity() >= device.ridge(mma_input(row.problem));
}

Json ceilings(std::span<const BestRow> rows, const Device* device) {
  Json list = Json::array();
  if (device == nullptr) return list;
  for (const Regime regime : kRegimes) {
    for (const MmaInput input : {MmaInput::kBf16, MmaInput::kFp8}) {
      const int bits = input == MmaInput::kFp8 ? 8 : 16;
      std::vector<double> mhz;
      for (const BestRow& row : rows) {
        if (row.regime == regime && operand_bits(row.problem) == bits &&
            bound_by_tensor_cores(row, *device)) {
          mhz.push_back(*row.sm_mhz);
        }
      }
      if (mhz.empty()) continue;
      const double clock = median(mhz);
      const double flops_per_clk = device->sms.value * device->flops_per_sm_clk(input);
      list.push_back({{"regime", to_string(regime)},
                      {"operand_bits", bits},
                      {"sm_mhz", clock},
                      {"tflops", flops_per_clk * clock * 1e-6},
                      {"shapes", mhz.size()}});
    }
  }
  return list;
}

/// The memory bandwidth that a study measured: the best over all ways to read.
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

std::optional<KernelConfig> find_config(const std::string& label) {
  try {
    return parse_label(label);
  } catch (const InputError&) {
    return std::nullopt;  // of a version that is not known
  }
}

std::vector<Section> best_sections(const Known& known) {
  const std::vector<Answer> answers = answers_of(known.races);
  if (answers.empty()) {
    const Json gap = missing("No verified kernel was recorded at any shape.",
                             "hgemm-tune --shapes square.yaml --regime both");
    return {{"best", gap}, {"configs", gap}};
  }
  Source source;
  std::vector<BestRow> best;  // of everything
  std::vector<const RecordedRace*> races;
  for (const Answer& answer : answers) {
    if (std::ranges::count(answer.levels, to_string(PdlKind::kWeights)) > 0) {
      best.push_back(answer.row);
    }
    const RecordedRace* race = race_of(answer.row, known.races);
    if (race == nullptr) continue;
    source.add(*race);
    if (std::ranges::find(races, race) == races.end()) races.push_back(race);
  }
  const RaceIndex race_index = [&](const BestRow& row) -> std::optional<std::size_t> {
    const auto race = std::ranges::find(races, race_of(row, known.races));
    if (race == races.end()) return std::nullopt;
    return static_cast<std::size_t>(race - races.begin());
  };
  Json json{{"source", source.json()},
            {"rows", rows_json(answers, race_index)},
            {"ceilings", ceilings(best, known.device)}};
  const auto measured = measured_read_tbps(known.studies);
  if (known.device != nullptr && known.device->read_tbps) {
    json["read_tbps"] = known.device->read_tbps->value;
    json["read_source"] = known.device->read_tbps->source;
  } else {
    json["read_tbps"] = number(measured);
    json["read_source"] = measured ? Json("micro, the best way to read memory") : Json();
  }
  return {{"best", std::move(json)}, {"configs", configs_section(races)}};
}

Json sustained_section(const Known& known) {
  // The largest GEMM whose winner and cublas both had windows of their own, in its newest race.
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
