#include "output/contest_fields.h"

#include <fmt/format.h>

#include <vector>

#include "gemm/codec.h"
#include "output/problem_fields.h"
#include "output/text.h"

namespace hgemm {
namespace {

const GemmProblem& problem_of_bout(const Bout& bout) { return bout.problem; }

constexpr const char* kFewRounds = "there are too few rounds for an interval";

Tone tone_of(Bout::Result result) {
  return result == Bout::Result::kWin    ? Tone::kGood
         : result == Bout::Result::kLoss ? Tone::kBad
                                         : Tone::kPlain;
}

}  // namespace

std::span<const BoutField> bout_fields() {
  using F = BoutField;
  static const std::vector<F> kFields = [] {
    std::vector<F> fields = {problem_key_of<Bout, problem_of_bout>()};
    for (F& field : problem_fields_of<Bout, problem_of_bout>()) {
      field.place = kNotShown;  // the key tells all of it but the tag
      fields.push_back(std::move(field));
    }
    std::vector<F> own = {
        F::of("regime", "text", "", "sustained, burst, single or chain", "",
              [](const Bout& bout) { return Json(to_string(bout.regime)); })
            .at(10, 11, "regime", [](const Bout& bout) { return Cell(to_string(bout.regime)); }),
        F::of("contestant", "text", "", "hgemm-tune, hgemm-tune without PDL, or the name of a peer",
              "", [](const Bout& bout) { return Json(bout.contestant); })
            .at(20, 0, "contestant", [](const Bout& bout) { return Cell(bout.contestant); }),
        F::of("opponent", "text", "",
              "cuBLAS, best cuBLASLt, best library (the faster of the two), or the name of a peer",
              "", [](const Bout& bout) { return Json(bout.opponent); })
            .at(30, 0, "against", [](const Bout& bout) { return Cell(bout.opponent); }),
        F::of("label", "text", "", "config of hgemm-tune, or label of the peer's fastest variant",
              "", [](const Bout& bout) { return Json(bout.label); })
            .at(70, 12, "what ran", [](const Bout& bout) { return Cell(bout.label); })
            .giving_way(Table::Fit::kBelow),
        F::of("cublas_us", "number", "us", "median time of cuBLAS in the same race", "",
              [](const Bout& bout) { return number(bout.cublas_us); })
            .at(60, 10, "cuBLAS us",
                [](const Bout& bout) { return Cell(fmt::format("{:.2f}", bout.cublas_us)); }),
        F::of(
            "ratio", "number", "",
            "the opponent's time over the contestant's, the median over the rounds of their race: "
            "above 1 the contestant is faster",
            "", [](const Bout& bout) { return number(bout.ratio.value); })
            .at(40, 1, "ratio",
                [](const Bout& bout) {
                  return Cell(ratio_text(bout.ratio.value, bout.ratio.interval, Stage::kFinal),
                              tone_of(bout.result));
                }),
        F::of("ratio_low", "number", "", "lower end of its 95 % interval", kFewRounds,
              [](const Bout& bout) { return number(bout.ratio.interval.low); }),
        F::of("ratio_high", "number", "", "upper end of its 95 % interval", kFewRounds,
              [](const Bout& bout) { return number(bout.ratio.interval.high); }),
        F::of("result", "text", "",
              "win or loss where the interval excludes 1 and the ratio differs from 1 by more than "
              "0.5 %, otherwise tie",
              "", [](const Bout& bout) { return Json(to_string(bout.result)); })
            .at(50, 2, "result",
                [](const Bout& bout) {
                  return Cell(std::string(to_string(bout.result)), tone_of(bout.result));
                }),
    };
    for (F& field : own) fields.push_back(std::move(field));
    return fields;
  }();
  return kFields;
}

std::span<const ScoreField> score_fields() {
  using F = ScoreField;
  constexpr const char* kFewProblems = "there are fewer than six problems";
  static const std::vector<F> kFields = {
      F::of("contestant", "text", "", "hgemm-tune, hgemm-tune without PDL, or the name of a peer",
            "", [](const Score& score) { return Json(score.contestant); })
          .at(0, 0, "contestant", [](const Score& score) { return Cell(score.contestant); }),
      F::of("opponent", "text", "",
            "cuBLAS, best cuBLASLt, best library (the faster of the two), or the name of a peer",
            "", [](const Score& score) { return Json(score.opponent); })
          .at(10, 0, "against", [](const Score& score) { return Cell(score.opponent); }),
      F::of("regime", "text", "", "sustained, burst, single or chain", "",
            [](const Score& score) { return Json(to_string(score.regime)); })
          .at(20, 5, "regime", [](const Score& score) { return Cell(to_string(score.regime)); }),
      F::of("size", "text", "", "the problems that count, by the time of cuBLAS, or all", "",
            [](const Score& score) { return Json(score.size); })
          .at(30, 1, "size", [](const Score& score) { return Cell(score.size); }),
      F::of("problems", "integer", "", "number of problems", "",
            [](const Score& score) { return Json(score.problems()); })
          .at(40, 1, "shapes",
              [](const Score& score) { return Cell(fmt::to_string(score.problems())); }),
      F::of("wins", "integer", "", "problems at which the contestant is faster", "",
            [](const Score& score) { return Json(score.wins); })
          .at(50, 1, "wins", [](const Score& score) { return Cell(fmt::to_string(score.wins)); }),
      F::of("ties", "integer", "", "problems at which the two cannot be told apart", "",
            [](const Score& score) { return Json(score.ties); })
          .at(60, 1, "ties", [](const Score& score) { return Cell(fmt::to_string(score.ties)); }),
      F::of("losses", "integer", "", "problems at which the contestant is slower", "",
            [](const Score& score) { return Json(score.losses); })
          .at(70, 1, "losses",
              [](const Score& score) { return Cell(fmt::to_string(score.losses)); }),
      F::of("geomean", "number", "", "geometric mean of the ratios", "",
            [](const Score& score) { return number(score.geomean); })
          .at(80, 1, "geomean",
              [](const Score& score) {
                const bool is_known = score.interval.low <= score.interval.high;
                return Cell(is_known ? fmt::format("{:.3f} [{:.3f}, {:.3f}]", score.geomean,
                                                   score.interval.low, score.interval.high)
                                     : fmt::format("{:.3f}", score.geomean));
              }),
      F::of(
          "geomean_low", "number", "",
          "lower end of its 95 % interval over problems like these: a bootstrap over the problems",
          kFewProblems, [](const Score& score) { return number(score.interval.low); }),
      F::of("geomean_high", "number", "", "upper end of that interval", kFewProblems,
            [](const Score& score) { return number(score.interval.high); }),
  };
  return kFields;
}

std::span<const ExclusionField> exclusion_fields() {
  using F = ExclusionField;
  static const std::vector<F> kFields = {
      F::of("problem", "text", "", "the problem's key", "",
            [](const Exclusion& exclusion) { return Json(to_string(exclusion.problem)); }),
      F::of("regime", "text", "", "sustained, burst, single or chain", "",
            [](const Exclusion& exclusion) { return Json(to_string(exclusion.regime)); }),
      F::of("peer", "text", "", "the peer that has no time there", "",
            [](const Exclusion& exclusion) { return Json(exclusion.peer); }),
      F::of("reason", "text", "", "the status of its first variant, and why", "",
            [](const Exclusion& exclusion) { return Json(exclusion.reason); }),
  };
  return kFields;
}

}  // namespace hgemm
