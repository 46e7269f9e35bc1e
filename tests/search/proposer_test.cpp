// Proposals from the whole space: what holds whatever the cost model says, and that nothing is
// missed that it likes better.
#include "search/proposer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <variant>

#include "gemm/codec.h"

namespace hgemm {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::SizeIs;

Scope at(const std::string& problem, PdlKind pdl = PdlKind::kWeights) {
  return {.problem = parse_problem(problem), .figures = {}, .limits = {}, .allowed = {.pdl = pdl}};
}

/// Decode, the valley between decode and prefill, prefill, few tiles of a long K, odd sizes, and a
/// wide output type.
const std::string kProblems[] = {"1x4096x4096",    "16x12288x4096",     "129x4096x4096",
                                 "2048x4096x4096", "256x256x16384",     "1000x1003x1001",
                                 "16x4099x4099",   "64x4096x4096.dfp32"};

double best_us(const std::vector<Proposal>& proposals) {
  return std::ranges::min_element(proposals, {}, &Proposal::predicted_us)->predicted_us;
}

void expect_usable(const std::vector<Proposal>& proposals, const Scope& scope) {
  std::set<std::string> labels;
  for (const Proposal& proposal : proposals) {
    const std::string name = label(proposal.config);
    EXPECT_TRUE(labels.insert(name).second) << name << " twice";
    EXPECT_EQ(why_not(proposal.config, scope.problem), nullptr) << name;
    EXPECT_TRUE(suits(proposal.config, scope.problem)) << name;
    EXPECT_TRUE(allows(scope.allowed, proposal.config, scope.problem.kind())) << name;
    EXPECT_DOUBLE_EQ(proposal.predicted_us,
                     predict_cost(scope.figures, proposal.config, scope.problem).us());
  }
}

TEST(Proposer, ProposesDistinctConfigsThatSuitTheProblem) {
  for (const std::string& problem : kProblems) {
    SCOPED_TRACE(problem);
    const Scope scope = at(problem);
    const auto proposals = propose(scope);
    EXPECT_GT(proposals.size(), 300u);
    EXPECT_LT(proposals.size(), 10'000u);
    expect_usable(proposals, scope);
  }
}

TEST(Proposer, ProposesTheSameAgain) {
  const auto labels = [] {
    std::vector<std::string> labels;
    for (const Proposal& proposal : propose(at("129x4096x4096"))) {
      labels.push_back(label(proposal.config));
    }
    return labels;
  };
  EXPECT_EQ(labels(), labels());
}

TEST(Proposer, KnowsPdlKinds) {
  for (const PdlKind most : {PdlKind::kOff, PdlKind::kSafe, PdlKind::kWeights}) {
    const Scope scope = at("16x4096x4096", most);
    const auto proposals = propose(scope);
    expect_usable(proposals, scope);
    std::set<PdlKind> kinds;
    std::set<std::string_view> families;
    for (const Proposal& proposal : proposals) {
      kinds.insert(pdl_kind(proposal.config));
      families.insert(family_name(proposal.config));
    }
    EXPECT_THAT(kinds, Contains(most));
    EXPECT_THAT(families, Contains("swap_ab")) << to_string(most);
  }
}

TEST(Proposer, KnowsBatchInvariance) {
  for (const std::string problem :
       {"1x4096x4096", "16x12288x4096", "256x256x16384", "2048x4096x4096", "16x4099x4099",
        "64x7168x2048.e4m3.scaling-rows", "64x4096x4096.e4m3.accfast"}) {
    SCOPED_TRACE(problem);
    Scope scope = at(problem, PdlKind::kSafe);
    scope.allowed.batch_invariant = true;
    const auto proposals = propose(scope);
    EXPECT_GT(proposals.size(), 100u);
    expect_usable(proposals, scope);
    expect_usable(draw(scope, 300, 7), scope);
    const auto best = std::ranges::min_element(proposals, {}, &Proposal::predicted_us);
    expect_usable(neighbours(scope, best->config), scope);
  }
  Scope scope = at("64x4096x4096.scaled-bias");
  EXPECT_TRUE(any_suits(scope));
  scope.allowed.batch_invariant = true;
  EXPECT_FALSE(any_suits(scope)) << "of this kind none is";
}

// Details begin with values that some kernels do not go with: parts of K that are added in memory
// with pdl, and swapped operands with pdl alone where B may not be read early.
TEST(Proposer, DetailsGiveWayToTheKernelsThatDoNotGoWithThem) {
  const auto words = [](const std::string& problem, PdlKind most) {
    std::set<std::string> found;
    for (const Proposal& proposal : propose(at(problem, most))) {
      for (const AxisValue& value : axis_values(proposal.config)) {
        if (value.axis == "scheduler") found.insert(value.value.substr(0, 5));
      }
      for (const char* word : {"late", "gpc", "hold"}) {
        if (label(proposal.config).find(std::string(".") + word) != std::string::npos) {
          found.insert(word);
        }
      }
    }
    return found;
  };
  for (const PdlKind most : {PdlKind::kOff, PdlKind::kSafe, PdlKind::kWeights}) {
    EXPECT_THAT(words("512x256x16384", most), Contains("split")) << to_string(most);
  }
  EXPECT_THAT(words("16x4096x4096", PdlKind::kSafe), Contains("late"));
  // Numbers by GPC need an idle GPU, and a kernel without PDL has nothing to hold back.
  EXPECT_THAT(words("512x512x512", PdlKind::kSafe), AllOf(Contains("gpc"), Contains("hold")));
  EXPECT_THAT(words("512x512x512", PdlKind::kOff), AllOf(Contains("gpc"), Not(Contains("hold"))));
}

// A search by levels could miss what it never builds.
TEST(Proposer, NothingAtRandomIsPredictedFaster) {
  for (const PdlKind most : {PdlKind::kOff, PdlKind::kSafe, PdlKind::kWeights}) {
    for (const std::string& problem : kProblems) {
      SCOPED_TRACE(problem + " " + std::string(to_string(most)));
      const Scope scope = at(problem, most);
      const double best = best_us(propose(scope));
      for (const Proposal& drawn : draw(scope, 1500, 7)) {
        EXPECT_GE(drawn.predicted_us, 0.995 * best) << label(drawn.config);
      }
    }
  }
}

TEST(Proposer, NothingNextToTheBestIsPredictedFaster) {
  for (const PdlKind most : {PdlKind::kOff, PdlKind::kSafe, PdlKind::kWeights}) {
    for (const std::string& problem : kProblems) {
      SCOPED_TRACE(problem + " " + std::string(to_string(most)));
      const Scope scope = at(problem, most);
      const auto proposals = propose(scope);
      const auto best = std::ranges::min_element(proposals, {}, &Proposal::predicted_us);
      for (const Proposal& near : neighbours(scope, best->config)) {
        EXPECT_GE(near.predicted_us, 0.99 * best->predicted_us) << label(near.config);
      }
    }
  }
}

// Without PDL most swap-AB tiles were once lost: a detail that needs it came first, and tiles were
// judged with it.
TEST(Proposer, ALessKindOfPdlLosesNoTile) {
  const auto tiles = [](PdlKind most) {
    std::set<std::string> found;
    for (const Proposal& proposal : propose(at("1x4096x4096", most))) {
      if (const auto* config = std::get_if<SwapAbConfig>(&proposal.config)) {
        found.insert(fmt::format("{}x{}x{}", config->bm, config->bn, config->bk));
      }
    }
    return found;
  };
  EXPECT_THAT(tiles(PdlKind::kOff), IsSupersetOf(tiles(PdlKind::kWeights)));
}

TEST(Proposer, HasTheFastestPredictedOfEachManner) {
  // What an axis says in words, where it is not far slower than the best, is always among them.
  const Scope scope = at("2048x4096x4096");
  const auto proposals = propose(scope);
  std::map<std::string, std::set<std::string>> words;
  for (const Proposal& proposal : proposals) {
    for (const AxisValue& value : axis_values(proposal.config)) {
      words[std::string(value.axis)].insert(value.value);
    }
  }
  EXPECT_THAT(words["schedule"], IsSupersetOf({"coop2", "coop3", "cols2", "pp2"}));
  EXPECT_THAT(words["scheduler"], IsSupersetOf({"persist", "dynamic", "single", "stream"}));
  EXPECT_THAT(words["store"], IsSupersetOf({"tma", "overlap", "direct"}));
  EXPECT_THAT(words["cluster"], IsSupersetOf({"1x1", "2x1", "1x2"}));
  EXPECT_THAT(words["order"], IsSupersetOf({"linear", "hilbert", "group4", "group8"}));
  EXPECT_THAT(words["store"], Not(Contains("staged"))) << "D needs none";
  EXPECT_THAT(words["pack"], testing::ElementsAre("0"));
}

TEST(Proposer, HasNothingForWhatNoKernelComputes) {
  const Scope scope = at("64x64x64.fp32");
  EXPECT_THAT(propose(scope), IsEmpty());
  EXPECT_THAT(draw(scope, 10, 0), IsEmpty());
  EXPECT_FALSE(any_suits(scope));
  EXPECT_TRUE(any_suits(at("1x1x1")));
}

TEST(Draw, TakesMorePointsAfterTheSameFirstOnes) {
  const Scope scope = at("16x4096x4096");
  const auto labels = [&](std::size_t count, std::uint64_t seed) {
    std::vector<std::string> labels;
    for (const Proposal& drawn : draw(scope, count, seed)) labels.push_back(label(drawn.config));
    return labels;
  };
  auto more = labels(200, 1);
  EXPECT_THAT(more, SizeIs(200));
  EXPECT_NE(more, labels(200, 2));
  more.resize(50);
  EXPECT_EQ(more, labels(50, 1));
}

TEST(Draw, TakesPointsOfEachFamilyThatSuits) {
  const Scope scope = at("16x4096x4096");
  const auto drawn = draw(scope, 300, 0);
  expect_usable(drawn, scope);
  std::map<std::string_view, int> families;
  for (const Proposal& one : drawn) ++families[family_name(one.config)];
  EXPECT_THAT(families, SizeIs(3));
  for (const auto& [family, count] : families) EXPECT_GT(count, 50) << family;
}

// ---- Neighbours ----

std::set<std::string> labels_of(const std::vector<Proposal>& proposals) {
  std::set<std::string> labels;
  for (const Proposal& proposal : proposals) labels.insert(label(proposal.config));
  return labels;
}

const std::string kTile = "bm128.bn128.bk64.q4.c2x1.coop2.d1.group8.tma.persist.pdl";

TEST(Neighbours, AreOneStepAway) {
  const Scope scope = at("4096x4096x4096");
  const auto found = neighbours(scope, parse_label(kTile));
  expect_usable(found, scope);
  EXPECT_THAT(labels_of(found),
              IsSupersetOf({
                  "bm128.bn136.bk64.q4.c2x1.coop2.d1.group8.tma.persist.pdl",
                  "bm128.bn120.bk64.q4.c2x1.coop2.d1.group8.tma.persist.pdl",
                  "bm128.bn128.bk64.q5.c2x1.coop2.d1.group8.tma.persist.pdl",
                  "bm128.bn128.bk64.q3.c2x1.coop2.d1.group8.tma.persist.pdl",
                  "bm128.bn128.bk64.q4.c1x1.coop2.d1.group8.tma.persist.pdl",
                  "bm128.bn128.bk64.q4.c2x1.pp2.d1.group8.tma.persist.pdl",
                  "bm128.bn128.bk64.q4.c2x1.coop2.d0.group8.tma.persist.pdl",
                  "bm128.bn128.bk64.q4.c2x1.coop2.d1.group4.tma.persist.pdl",
                  "bm128.bn128.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist.pdl",
                  "bm128.bn128.bk64.q4.c2x1.coop2.d1.group8.tma.stream",
                  "bm128.bn128.bk64.q4.c2x1.coop2.d1.group8.tma.persist.blast.pdl",
                  "bm128.bn128.bk64.q4.c2x1.coop2.d1.group8.tma.persist",
                  "bm128.bn128.bk64.q4.c2x1.coop2.d1.group8.tma.persist.pdl.fixed",
              }));
  EXPECT_THAT(labels_of(found), Not(Contains(kTile)));
}

TEST(Neighbours, AnotherTileHasAsManyStagesAsBeforeAndAsManyAsFit) {
  const auto labels = labels_of(neighbours(at("4096x4096x4096"), parse_label(kTile)));
  int with_four = 0;
  int with_more = 0;
  for (const std::string& name : labels) {
    if (!name.starts_with("bm128.bn120.")) continue;
    ++(name.find(".q4.") != name.npos ? with_four : with_more);
  }
  EXPECT_EQ(with_four, 1);
  EXPECT_EQ(with_more, 1);
}

TEST(Neighbours, GiveWayWhereTheRulesForbidAStep) {
  // 120 rows are no multiple of 64: the other operand becomes wgmma's 64-row one.
  const auto found = neighbours(at("4096x4096x4096"), parse_label(kTile));
  EXPECT_TRUE(std::ranges::any_of(found, [](const Proposal& proposal) {
    const auto& config = std::get<TiledConfig>(proposal.config);
    return config.bm < 128 && config.swap;
  }));
}

TEST(Neighbours, OfAConfigOutsideTheDomainAreInside) {
  const auto labels = labels_of(
      neighbours(at("4096x4096x4096"),
                 parse_label("bm128.bn128.bk64.q4.c2x1.coop2.d1.group7.tma.persist.sms100.pdl")));
  EXPECT_THAT(labels,
              IsSupersetOf({"bm128.bn128.bk64.q4.c2x1.coop2.d1.group8.tma.persist.sms100.pdl",
                            "bm128.bn128.bk64.q4.c2x1.coop2.d1.group4.tma.persist.sms100.pdl"}));
}

}  // namespace
}  // namespace hgemm
