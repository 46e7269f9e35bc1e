// The order of sums: which configs give a row of D the same bits whatever M is.
#include "families/sum_order.h"

#include <gmock/gmock.h>

#include <set>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "families/allowed.h"
#include "gemm/codec.h"
#include "search/proposer.h"

namespace hgemm {
namespace {

using testing::HasSubstr;

SumOrder order_of(const std::string& label) { return sum_order(parse_label(label)); }

TEST(SumOrders, FollowFromHowKIsSummed) {
  for (const char* label : {"bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist",
                            "bm64.bn64.bk32.q6.c1x2.pp2.d0.linear.staged.dynamic.pack",
                            "bm64.bn256.bk64.q3.c1x1.cols2.d0.linear.direct.single.pdl.fixed",
                            "bm80.bn128.bk64.q4.c1x1.swap.coop2.d1.linear.tma.persist",
                            "bm128.bn128.bk128.q4.c1x1.coop2.d0.acc128.linear.tma.persist",
                            "swap_ab.bm16.bn64.bk64.q3.d1.tma.single.pdl.late",
                            "swap_ab.bm64.bn128.bk128.q3.d0.acc128.tma.single"}) {
    EXPECT_EQ(order_of(label), SumOrder::kSequential) << label;
  }
  for (const char* label : {"bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma.split4",
                            "bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma.csplit2",
                            "bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma.stream",
                            "swap_ab.bm16.bn64.bk128.q4.d1.tma.csplit2"}) {
    EXPECT_EQ(order_of(label), SumOrder::kCutK) << label;
  }
  EXPECT_EQ(order_of("gemv.v1.r16.s1024.q2.w8.single"), SumOrder::kCudaCores);
  EXPECT_EQ(order_of("bm128.bn128.bk128.q4.c1x1.coop2.d0.acc256.linear.tma.persist"),
            SumOrder::kOtherPromotion);
  EXPECT_EQ(order_of("swap_ab.bm16.bn64.bk128.q4.d0.acc512.tma.single"), SumOrder::kOtherPromotion);
}

TEST(SumOrders, HaveAReasonUnlessTheyAreSequential) {
  EXPECT_EQ(why_bits_follow_m(SumOrder::kSequential), nullptr);
  for (const SumOrder order : {SumOrder::kCutK, SumOrder::kCudaCores, SumOrder::kOtherPromotion,
                               SumOrder::kSwappedOperands}) {
    EXPECT_NE(why_bits_follow_m(order), nullptr);
  }
}

/// Calls `use` with random points of the whole space, of all families.
template <class Use>
void for_each_point(const GemmProblem& problem, const Use& use) {
  for (const Proposal& drawn : draw({.problem = problem}, 600, 3)) {
    use(without_fixed(drawn.config));
  }
}

// Where sums are promoted, or are not, the types say it; so the configs that are allowed at a
// problem have one order although the predicate knows no problem.
TEST(SumOrders, AllowedConfigsOfAProblemAreOfOneOrder) {
  for (const char* kind : {"", ".fp16.dfp32", ".swiglu", ".e4m3", ".e4m3.scaling-blocks",
                           ".e4m3.accfast", ".e5m2.be4m3.scaling-rows"}) {
    SCOPED_TRACE(kind);
    const GemmProblem problem = parse_problem(std::string("64x4096x4096") + kind);
    int allowed = 0, others = 0;
    std::set<int> promotions;
    for_each_point(problem, [&](const KernelConfig& config) {
      if (!allows({.batch_invariant = true}, config, problem.kind())) {
        ++others;
        return;
      }
      ++allowed;
      std::visit(
          [&]<class Config>(const Config& c) {
            if constexpr (requires { c.promote; }) {
              promotions.insert(c.promote);
              EXPECT_EQ(c.splits, 1) << label(config);
              EXPECT_FALSE(adds_in_cluster(c)) << label(config);
            } else {
              ADD_FAILURE() << label(config) << " has no tensor cores";
            }
            if constexpr (std::is_same_v<Config, TiledConfig>) {
              EXPECT_FALSE(cuts_k(c)) << label(config);
            }
          },
          config);
    });
    EXPECT_GT(allowed, 20);
    EXPECT_GT(others, 20);
    EXPECT_EQ(promotions.size(), 1U) << "one interval of promotion";
  }
}

// A kernel of a bundle must be able to compute each M of its N and K.
TEST(SumOrders, AllowedConfigsOfALinearLayerComputeEveryM) {
  for (const char* kind : {"", ".bias-silu", ".swiglu", ".e4m3.scaling-rows"}) {
    const GemmProblem tuned = parse_problem(std::string("16x4096x1040") + kind);
    int seen = 0;
    for_each_point(tuned, [&](const KernelConfig& config) {
      if (!allows({.batch_invariant = true}, config, tuned.kind())) return;
      if (why_not(config, tuned) != nullptr) return;
      ++seen;
      for (const std::int64_t m : {1, 2, 7, 8, 63, 64, 65, 1000, 4097, 100'000}) {
        GemmProblem other = tuned;
        other.m = m;
        EXPECT_EQ(why_not(config, other), nullptr) << label(config) << " with " << m << " rows";
      }
    });
    EXPECT_GT(seen, 20);
  }
}

TEST(SumOrders, KindsWhoseRoundingsTheCompilerChoosesAreRuledOut) {
  const auto reason = [](const std::string& kind) {
    return why_bits_follow_m(parse_problem("64x4096x4096" + kind).kind());
  };
  for (const char* kind : {"", ".bias-gelu", ".cbf16.bias", ".swiglu", ".scaled", ".scaled-silu",
                           ".e4m3", ".e4m3.scaling-rows", ".e4m3.scaling-tensor.swiglu",
                           ".e4m3.scaling-blocks.bias-gelu", ".e4m3.de4m3.bias"}) {
    EXPECT_EQ(reason(kind), nullptr) << kind;
  }
  for (const char* kind : {".scaled-bias", ".cbf16.scaled", ".scaled-gelu",
                           ".e4m3.scaling-rows.bias", ".e4m3.scaling-tensor.cbf16"}) {
    EXPECT_THAT(reason(kind), HasSubstr("with one rounding")) << kind;
  }
}

TEST(Allowed, SaysWhichConfigsMayAnswer) {
  const KernelConfig plain = TiledConfig{};
  const KernelConfig weights = SwapAbConfig{.pdl = true};
  const KernelConfig cut = SwapAbConfig{.splits = 2};
  EXPECT_TRUE(allows({}, weights));
  EXPECT_TRUE(allows({}, cut));
  EXPECT_FALSE(allows({.pdl = PdlKind::kSafe}, weights));
  EXPECT_TRUE(allows({.pdl = PdlKind::kSafe}, cut));
  EXPECT_FALSE(allows({.batch_invariant = true}, cut));
  EXPECT_TRUE(allows({.batch_invariant = true}, weights));
  EXPECT_FALSE(allows({.pdl = PdlKind::kOff, .batch_invariant = true}, weights));
  EXPECT_TRUE(allows({.pdl = PdlKind::kOff, .batch_invariant = true}, plain));
  const GemmKind scaled = parse_problem("64x64x64.scaled-bias").kind();
  EXPECT_TRUE(allows({}, plain, scaled));
  EXPECT_FALSE(allows({.batch_invariant = true}, plain, scaled));
  EXPECT_NE(why_none_allowed({.batch_invariant = true}, scaled), nullptr);
  EXPECT_EQ(why_none_allowed({}, scaled), nullptr);
}

}  // namespace
}  // namespace hgemm
