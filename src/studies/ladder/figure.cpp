#include "studies/ladder/figure.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "gemm/codec.h"
#include "studies/ladder/ladder.h"
#include "studies/ladder/table.h"

namespace hgemm {
namespace {

/// The steps of one family that were timed at one problem.
struct Ladder {
  ladder::Family family;
  GemmProblem problem;
  std::vector<LadderPoint> points;
};

/// Families in the order of ladder_steps(); the problems of each in the order of recording.
std::vector<Ladder> ladders_of(std::span<const RecordedStudy> studies) {
  std::vector<Ladder> ladders;
  for (const ladder::Step& step : ladder_steps()) {
    for (const RecordedStudy& recorded : studies) {
      const Study& study = recorded.study;
      if (study.kind != kLadderStudy || !study.problem) continue;
      const auto point = parse_ladder_label(study.label);
      if (!point || point->step.family != step.family ||
          std::string_view(point->step.id) != step.id) {
        continue;
      }
      auto found = std::ranges::find_if(ladders, [&](const Ladder& ladder) {
        return ladder.family == step.family && ladder.problem.same_problem(*study.problem);
      });
      if (found == ladders.end()) {
        found = ladders.insert(found, {step.family, *study.problem, {}});
      }
      found->points.push_back(*point);
    }
  }
  return ladders;
}

/// Adds the tuned steps that were timed beside the steps of a ladder: the newest config of each.
void add_tuned(Ladder& ladder, std::span<const RecordedStudy> studies) {
  for (const ladder::Step& step : tuned_ladder_steps()) {
    if (step.family != ladder.family) continue;
    LadderPoint point{step, operand_type(step, ladder.problem.a_type), {}};
    const GemmProblem own = problem_of(point, ladder.problem);
    for (const RecordedStudy& recorded : studies) {  // the newest comes last
      if (is_of_tuned_step(recorded.study, own)) point.config = recorded.study.label;
    }
    if (!point.config.empty()) ladder.points.push_back(std::move(point));
  }
}

}  // namespace

Json ladder_section(const report::Known& known) {
  auto ladders = ladders_of(known.studies);
  if (ladders.empty()) {
    return report::missing("No step of the ladder was timed.", "hgemm-tune ladder");
  }
  report::Source source;
  Json list = Json::array();
  for (Ladder& one : ladders) {
    add_tuned(one, known.studies);
    const auto rows = ladder_rows(one.points, one.problem, known.studies);
    const RecordedStudy* timing = nullptr;
    for (const RecordedStudy& recorded : known.studies) {
      const bool is_tuned_one = std::ranges::any_of(one.points, [&](const LadderPoint& point) {
        return is_tuned(point.step) && recorded.study.label == point.config &&
               is_of_tuned_step(recorded.study, problem_of(point, one.problem));
      });
      if (is_tuned_one) source.add(recorded);
      if (!recorded.study.problem || !recorded.study.problem->same_problem(one.problem)) {
        continue;
      }
      const auto point = parse_ladder_label(recorded.study.label);
      if (!point || point->step.family != one.family) continue;
      if (recorded.study.kind == kLadderStudy) timing = &recorded;
      source.add(recorded);
    }
    // Rows of the session with the newest timing; ladder_rows() groups rows by session.
    std::vector<LadderRow> newest;
    std::ranges::copy_if(rows, std::back_inserter(newest), [&](const LadderRow& row) {
      return timing != nullptr && same_session(row, *timing);
    });
    std::optional<double> cublas;
    std::optional<Regime> regime;
    for (const LadderRow& row : newest) {
      if (!row.cublas_time_us || !row.problem.same_problem(one.problem)) continue;
      cublas = row.problem.flops() / *row.cublas_time_us * 1e-6;
    }
    const std::vector<Sample>* samples =
        timing != nullptr ? &timing->study.samples(kStepSeries) : nullptr;
    if (samples != nullptr && !samples->empty()) {
      regime = samples->front().pace == Pace::kRested ? Regime::kBurst : Regime::kSustained;
      source.add_regime(*regime);
    }
    list.push_back({{"family", to_string(one.family)},
                    {"shape", to_string(one.problem)},
                    {"m", one.problem.m},
                    {"n", one.problem.n},
                    {"k", one.problem.k},
                    {"dtype", types_text(one.problem)},
                    {"regime", regime ? Json(to_string(*regime)) : Json()},
                    {"cublas_tflops", number(cublas)},
                    {"steps", Json::parse(format_ladder(newest, Format::kJson))}});
  }
  return {{"source", source.json()}, {"ladders", list}};
}

}  // namespace hgemm
