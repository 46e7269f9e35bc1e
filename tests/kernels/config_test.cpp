// The rules: each one rejects what it names, and accepted configs respect what the hardware has.
#include "kernels/rules.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "space/label.h"

namespace hgemm {
namespace {

struct Case {
  Rule rule;
  KernelConfig config;
};

KernelConfig vectors(int bm, int bn, int bk, int stages, Walk walk = Walk::kSingle,
                     int splits = 1) {
  return {.bm = bm,
          .bn = bn,
          .bk = bk,
          .stages = stages,
          .schedule = Schedule::kVector,
          .mma_depth = 0,
          .epilogue = Epilogue::kDirect,
          .walk = walk,
          .splits = splits};
}

TEST(Config, EachRuleRejectsWhatItNames) {
  const Case cases[] = {
      {Rule::kValid, {}},
      {Rule::kTileM, {.bm = 96}},
      {Rule::kTileM, {.bm = 448}},
      {Rule::kTileN, {.bn = 12}},
      {Rule::kTileN, {.bn = 264}},
      {Rule::kTileK, {.bk = 48}},
      {Rule::kStages, {.stages = 1}},
      {Rule::kStages, {.stages = 2, .mma_depth = 1}},
      {Rule::kValid, {.stages = 2, .mma_depth = 0}},
      {Rule::kStages, {.bm = 64, .bn = 8, .stages = 17, .consumers = 1}},
      {Rule::kConsumers, {.bm = 256, .consumers = 4}},
      {Rule::kConsumerShare, {.bm = 192, .consumers = 2}},
      {Rule::kConsumerShare, {.schedule = Schedule::kColumns, .consumers = 1}},
      {Rule::kConsumerShare, {.bn = 72, .schedule = Schedule::kColumns}},
      {Rule::kConsumerShare, {.bn = 80, .schedule = Schedule::kColumns, .consumers = 3}},
      {Rule::kValid, {.bm = 192, .bn = 80, .schedule = Schedule::kColumns}},
      {Rule::kConsumerShare, {.schedule = Schedule::kPingPong, .consumers = 1}},
      {Rule::kConsumerShare, {.bm = 64, .schedule = Schedule::kPingPong, .consumers = 3}},
      {Rule::kValid, {.bm = 64, .schedule = Schedule::kPingPong}},
      {Rule::kCluster, {.cluster_m = 2, .cluster_n = 2}},
      {Rule::kMulticastSlice, {.bn = 8, .cluster_m = 2}},
      {Rule::kValid, {.bn = 8, .cluster_n = 2}},
      {Rule::kValid, {.bn = 72, .cluster_m = 2}},
      {Rule::kMmaDepth, {.mma_depth = 2}},
      {Rule::kGroup, {.order = TileOrder::kGroupedRows, .group = 0}},
      {Rule::kGroup, {.order = TileOrder::kGroupedColumns, .group = 0}},
      {Rule::kGroup, {.order = TileOrder::kSnakeRows, .group = 65}},
      {Rule::kGroup, {.order = TileOrder::kSnakeColumns, .group = -1}},
      {Rule::kValid, {.order = TileOrder::kSnakeColumns, .group = 64}},
      {Rule::kGroup, {.order = TileOrder::kHilbert, .group = 8}},
      {Rule::kAccumulators, {.bm = 256, .bn = 208, .stages = 3}},
      {Rule::kValid, {.bm = 256, .bn = 200, .stages = 3}},
      {Rule::kValid, {.bm = 256, .bn = 208, .stages = 3, .epilogue = Epilogue::kDirect}},
      // A turn's tile is one consumer's; a packed tile waits beside the next one's accumulators.
      {Rule::kAccumulators, {.bm = 128, .bn = 208, .schedule = Schedule::kPingPong}},
      {Rule::kValid, {.bm = 128, .bn = 200, .schedule = Schedule::kPingPong}},
      {Rule::kAccumulators, {.bm = 256, .bn = 136, .stages = 3, .epilogue = Epilogue::kLate}},
      {Rule::kValid, {.bm = 256, .bn = 128, .stages = 3, .epilogue = Epilogue::kLate}},
      {Rule::kOperandRegisters, {.bm = 192, .bn = 208, .stages = 3, .consumers = 3}},
      {Rule::kSharedMemory, {.bm = 128, .bn = 256, .stages = 5}},
      {Rule::kDtype, {.dtype = Dtype::kFp32}},
      {Rule::kLate, {.epilogue = Epilogue::kLate, .walk = Walk::kSingle}},
      {Rule::kLate, {.epilogue = Epilogue::kLate, .walk = Walk::kStreamK}},
      {Rule::kConsumerShare, {.schedule = Schedule::kPingPong, .walk = Walk::kSingle}},
      {Rule::kSplits, {.walk = Walk::kSplitK}},
      {Rule::kSplits, {.walk = Walk::kSplitK, .splits = 17}},
      {Rule::kSplits, {.walk = Walk::kStreamK, .splits = 2}},
      {Rule::kValid, {.walk = Walk::kSplitK, .splits = 16}},
      {Rule::kSplits, {.walk = Walk::kClusterSplit}},
      {Rule::kSplits, {.walk = Walk::kClusterSplit, .splits = 9}},
      {Rule::kValid,
       {.bm = 64, .bn = 64, .consumers = 1, .walk = Walk::kClusterSplit, .splits = 8}},
      {Rule::kClusterSplit, {.cluster_m = 2, .walk = Walk::kClusterSplit, .splits = 2}},
      {Rule::kClusterSplit,
       {.epilogue = Epilogue::kDirect, .walk = Walk::kClusterSplit, .splits = 2}},
      {Rule::kClusterSplit,
       {.schedule = Schedule::kPingPong, .walk = Walk::kClusterSplit, .splits = 2}},
      // 7 times 2 boxes of 16 KB of sums.
      {Rule::kSharedMemory,
       {.bm = 256, .bn = 128, .consumers = 2, .walk = Walk::kClusterSplit, .splits = 8}},
      // A producer that finds parts of tiles cannot do with 24 registers.
      {Rule::kAccumulators, {.bm = 256, .bn = 200, .stages = 3, .walk = Walk::kStreamK}},
      {Rule::kValid, {.bm = 256, .bn = 192, .stages = 3, .walk = Walk::kStreamK}},
      {Rule::kCtasPerSm, {.ctas_per_sm = 3}},
      {Rule::kDynamic,
       {.bm = 64, .bn = 64, .consumers = 1, .walk = Walk::kDynamic, .ctas_per_sm = 2}},
      {Rule::kCtasPerSm, {.bm = 192, .bn = 64, .consumers = 3, .ctas_per_sm = 2}},
      {Rule::kSharedMemory, {.bm = 64, .stages = 5, .consumers = 1, .ctas_per_sm = 2}},
      {Rule::kValid, {.bm = 64, .consumers = 1, .ctas_per_sm = 2}},
      {Rule::kOperandRegisters,
       {.bm = 64, .bn = 208, .stages = 3, .consumers = 1, .ctas_per_sm = 2}},
      {Rule::kMemoryHint, {.promotion = 0}},
      {Rule::kMemoryHint, {.promotion = 512}},
      {Rule::kValid, {.promotion = 64}},
      {Rule::kMemoryHint, {.epilogue = Epilogue::kDirect, .d_hint = CacheHint::kEvictFirst}},
      {Rule::kValid, {.epilogue = Epilogue::kLate, .d_hint = CacheHint::kEvictFirst}},
      {Rule::kSwapped, {.schedule = Schedule::kSwapped}},
      {Rule::kTileM, {.bm = 136, .schedule = Schedule::kSwapped, .walk = Walk::kSingle}},
      {Rule::kTileM, {.bm = 12, .schedule = Schedule::kSwapped, .walk = Walk::kSingle}},
      {Rule::kConsumerShare,
       {.bm = 8, .bn = 64, .schedule = Schedule::kSwapped, .walk = Walk::kSingle}},
      {Rule::kSplits,
       {.bm = 8, .schedule = Schedule::kSwapped, .walk = Walk::kClusterSplit, .splits = 9}},
      {Rule::kSwapped,
       {.bm = 8, .schedule = Schedule::kSwapped, .walk = Walk::kSplitK, .splits = 2}},
      {Rule::kAccumulators,
       {.bm = 88,
        .stages = 3,
        .schedule = Schedule::kSwapped,
        .walk = Walk::kSingle,
        .ctas_per_sm = 2}},
      {Rule::kValid,
       {.bm = 80,
        .stages = 3,
        .schedule = Schedule::kSwapped,
        .walk = Walk::kSingle,
        .ctas_per_sm = 2}},
      {Rule::kValid, {.bm = 8, .schedule = Schedule::kSwapped, .walk = Walk::kSingle}},
      {Rule::kValid,
       {.bm = 8,
        .schedule = Schedule::kSwapped,
        .walk = Walk::kClusterSplit,
        .splits = 8,
        .pdl = true}},
      {Rule::kProbe, {.schedule = Schedule::kSwapped, .walk = Walk::kSingle, .probe = true}},
      {Rule::kProbe, {.schedule = Schedule::kPingPong, .probe = true}},
      {Rule::kProbe, {.walk = Walk::kStreamK, .probe = true}},
      {Rule::kProbe, {.walk = Walk::kDynamic, .probe = true}},
      {Rule::kValid, {.m = 1, .n = 8, .k = 1 << 30}},
      {Rule::kExtents, {.m = 0, .n = 8, .k = 8}},
      {Rule::kExtents, {.m = -1, .n = 8, .k = 8}},
      {Rule::kExtents, {.m = 1, .n = 9, .k = 8}},
      {Rule::kDynamic, {.schedule = Schedule::kPingPong, .walk = Walk::kDynamic}},
      {Rule::kDynamic, {.bm = 192, .bn = 64, .consumers = 3, .walk = Walk::kDynamic}},
      {Rule::kValid,
       {.cluster_m = 2, .epilogue = Epilogue::kLate, .walk = Walk::kDynamic, .pdl = true}},
      {Rule::kProbe, {.walk = Walk::kClusterSplit, .splits = 2, .probe = true}},
      {Rule::kProbe, {.bm = 256, .bn = 200, .stages = 3, .probe = true}},
      {Rule::kValid, {.bn = 256, .epilogue = Epilogue::kLate, .probe = true}},
      {Rule::kValid, {.schedule = Schedule::kColumns, .probe = true}},
      {Rule::kMemoryHint, {.epilogue = Epilogue::kStaged, .d_hint = CacheHint::kEvictFirst}},
      {Rule::kAccumulators,
       {.bn = 192, .schedule = Schedule::kPingPong, .epilogue = Epilogue::kStaged}},
      {Rule::kValid,
       {.bn = 176, .schedule = Schedule::kPingPong, .epilogue = Epilogue::kStaged, .pack = true}},
      {Rule::kValid, {.epilogue = Epilogue::kStaged, .pack = true, .m = 1, .n = 9, .k = 7}},
      {Rule::kExtents, {.epilogue = Epilogue::kStaged, .m = 2, .n = 9, .k = 7}},
      {Rule::kProbe, {.pack = true, .probe = true}},
      {Rule::kPack,
       {.bm = 8, .schedule = Schedule::kSwapped, .walk = Walk::kSingle, .pdl = true, .pack = true}},
      {Rule::kVector, {.schedule = Schedule::kVector}},
      {Rule::kVector, vectors(3, 16, 1024, 2)},
      {Rule::kVector, vectors(1, 12, 1024, 2)},
      {Rule::kVector, vectors(1, 16, 768, 2)},
      {Rule::kVector, vectors(1, 16, 1024, 3)},
      {Rule::kVector, vectors(16, 32, 256, 1)},
      {Rule::kVector, vectors(1, 64, 2048, 2)},
      {Rule::kValid, vectors(1, 16, 1024, 2)},
      {Rule::kValid, vectors(16, 1, 256, 2)},
      {Rule::kSplits, vectors(1, 1, 1024, 2, Walk::kClusterSplit, 9)},
      {Rule::kValid, vectors(1, 1, 1024, 2, Walk::kClusterSplit, 8)},
  };
  std::set<Rule> seen;
  for (const Case& c : cases) {
    EXPECT_EQ(why_invalid(c.config), c.rule)
        << label(c.config) << ": " << rule_text(why_invalid(c.config)).name;
    seen.insert(c.rule);
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(Rule::kCount)) << "a rule is not tried here";
}

// Sums of a cluster's CTAs: each box is added up by one of them, which has room for it.
void expect_boxes_owned_once(const KernelConfig& c) {
  SCOPED_TRACE(label(c));
  ASSERT_EQ(why_invalid(c), Rule::kValid);
  EXPECT_EQ(first_box(c, 0), 0);
  EXPECT_EQ(first_box(c, c.splits), store_boxes(c));
  EXPECT_EQ(box_value(c, store_boxes(c)), accumulators_per_thread(c));
  for (int rank = 0; rank < c.splits; ++rank) {
    for (int box = first_box(c, rank); box < first_box(c, rank + 1); ++box) {
      EXPECT_EQ(box_owner(c, box), rank) << "box " << box;
      EXPECT_LE(box_value(c, box + 1) - box_value(c, box), box_values(c));
    }
    const int values = box_value(c, first_box(c, rank + 1)) - box_value(c, first_box(c, rank));
    EXPECT_LE(values * kValueSumBytes, sent_bytes(c));
  }
}

TEST(Config, EachBoxOfACutTileHasOneOwner) {
  for (int bn = 8; bn <= 256; bn += 8) {
    for (int splits = 2; splits <= 8; ++splits) {
      for (const auto& [bm, schedule, consumers] : {std::tuple{64, Schedule::kRows, 1},
                                                    {128, Schedule::kRows, 2},
                                                    {256, Schedule::kRows, 2},
                                                    {192, Schedule::kColumns, 2}}) {
        const KernelConfig c{.bm = bm,
                             .bn = bn,
                             .bk = 64,
                             .stages = 3,
                             .schedule = schedule,
                             .consumers = consumers,
                             .walk = Walk::kClusterSplit,
                             .splits = splits};
        if (why_invalid(c) == Rule::kValid) expect_boxes_owned_once(c);
      }
    }
  }
}

TEST(Config, EachGroupOfASwappedTileHasOneOwner) {
  for (int bm = 8; bm <= 128; bm += 8) {
    for (int splits = 1; splits <= 8; ++splits) {
      const KernelConfig c{.bm = bm,
                           .bn = 192,
                           .bk = 64,
                           .stages = 3,
                           .schedule = Schedule::kSwapped,
                           .consumers = 3,
                           .walk = splits > 1 ? Walk::kClusterSplit : Walk::kSingle,
                           .splits = splits};
      expect_boxes_owned_once(c);
      EXPECT_LE(swapped_epilogue_bytes(c), smem_layout(c).full) << label(c);
    }
  }
}

TEST(Config, EveryRuleHasANameAndAReason) {
  std::set<std::string> names;
  for (int i = 0; i < static_cast<int>(Rule::kCount); ++i) {
    const RuleText text = rule_text(static_cast<Rule>(i));
    EXPECT_TRUE(names.insert(text.name).second) << text.name;
    EXPECT_GT(std::string(text.reason).size(), 10u) << text.name;
  }
}

// What a consumer stores and what each CTA of a cluster fetches are whole, whatever the widths.
TEST(Config, SharesAndSlicesCoverTheTile) {
  for (const Schedule schedule : {Schedule::kRows, Schedule::kColumns, Schedule::kPingPong}) {
    for (int bm = 64; bm <= 384; bm += 64) {
      for (int bn = 8; bn <= 256; bn += 8) {
        for (const int consumers : {1, 2, 3}) {
          for (const auto& [cluster_m, cluster_n] : {std::pair{1, 1}, {2, 1}, {1, 2}}) {
            const KernelConfig c{.bm = bm,
                                 .bn = bn,
                                 .bk = 32,
                                 .stages = 3,
                                 .cluster_m = cluster_m,
                                 .cluster_n = cluster_n,
                                 .schedule = schedule,
                                 .consumers = consumers};
            if (why_invalid(c) != Rule::kValid) continue;
            SCOPED_TRACE(label(c));
            EXPECT_EQ(consumer_rows(c) * consumer_cols(c) * readers(c), bm * bn);
            EXPECT_EQ(accumulators_per_thread(c) * kWarpgroupThreads,
                      consumer_rows(c) * consumer_cols(c));
            for (const auto& [rows, slice, ctas] :
                 {std::tuple{bm, a_slice_rows(c), cluster_n}, {bn, b_slice_rows(c), cluster_m}}) {
              EXPECT_EQ(slice % 8, 0);
              EXPECT_LE(slice, rows);
              EXPECT_GE(slice * ctas, rows);
              EXPECT_LT(slice * ctas, rows + 8 * ctas);
              EXPECT_EQ(slice % box_rows(slice), 0);
              EXPECT_EQ(box_rows(slice) % 8, 0);
              EXPECT_LE(box_rows(slice), kMaxBoxRows);
            }
            const bool uneven = bn % (8 * cluster_m) != 0;  // bm is even for any cluster
            EXPECT_EQ(arriving_bytes(c), a_stage_bytes(c) + b_stage_bytes(c) +
                                             (uneven ? 8 * c.bk * kElementBytes : 0));
          }
        }
      }
    }
  }
}

// setmaxnreg.inc waits for registers that the CTA gave back; what it was launched with is all.
TEST(Config, RegistersMovedNeverExceedThoseAtEntry) {
  for (int consumers = 1; consumers <= 3; ++consumers) {
    for (int bn = 8; bn <= 256; bn += 8) {
      for (const Epilogue epilogue : {Epilogue::kDirect, Epilogue::kTma, Epilogue::kLate}) {
        for (const Walk walk : {Walk::kPersistent, Walk::kStreamK}) {
          for (const int ctas : {1, 2}) {
            const KernelConfig config{.bm = 192 * 2,
                                      .bn = bn,
                                      .stages = 3,
                                      .consumers = consumers,
                                      .epilogue = epilogue,
                                      .walk = walk,
                                      .ctas_per_sm = ctas};
            if (!moves_registers(config) || ctas * consumers > 4) continue;
            EXPECT_LE(producer_registers(config) + consumers * consumer_registers(config),
                      entry_registers(config) * (consumers + 1));
          }
        }
      }
    }
  }
}

TEST(Config, SharedMemoryPartsDoNotOverlapAndAreAligned) {
  for (const int bk : {32, 64, 128}) {
    for (int bn = 8; bn <= 256; bn += 8) {
      const KernelConfig config{.bm = 128, .bn = bn, .bk = bk, .stages = 3};
      const SmemLayout layout = smem_layout(config);
      EXPECT_EQ(layout.b, 3 * 128 * bk * 2);
      EXPECT_GE(layout.staging, layout.b + 3 * bn * bk * 2);
      EXPECT_EQ(layout.staging % 1024, 0);
      EXPECT_EQ(layout.full - layout.staging, 2 * 4 * 2 * 2048);  // consumers, warps, buffers
      EXPECT_EQ(layout.full % 8, 0);
      EXPECT_EQ(layout.total_bytes, layout.full + 3 * 3 * 8);
    }
  }
}

ProblemExtents without_padding(long long m, long long n, long long k) { return {m, n, k, k, k, n}; }

TEST(Config, WhatNoKernelComputesHasAReason) {
  EXPECT_EQ(why_unsupported(without_padding(1, 1, 1)), nullptr);
  EXPECT_EQ(why_unsupported(without_padding(333, 4097, 71)), nullptr);
  EXPECT_EQ(why_unsupported({8, 8, 8, 9, 10, 11}), nullptr);
  EXPECT_NE(why_unsupported(without_padding(0, 64, 64)), nullptr);
  EXPECT_NE(why_unsupported(without_padding(64, 64, 1LL << 31)), nullptr);
  EXPECT_NE(why_unsupported({8, 8, 8, 7, 8, 8}), nullptr);
  EXPECT_NE(why_unsupported({8, 8, 8, 8, 8, 7}), nullptr);
  EXPECT_NE(why_unsupported({8, 8, 8, 8, 1LL << 31, 8}), nullptr);
}

TEST(Config, KernelsSayWhichRowsTheyCannotUse) {
  const auto reason = [](const KernelConfig& config, const ProblemExtents& extents) {
    const char* text = why_unsupported(config, extents);
    return std::string(text ? text : "");
  };
  const KernelConfig plain;
  const KernelConfig packs{.pack = true};
  const KernelConfig staged{.epilogue = Epilogue::kStaged};
  const KernelConfig any{.epilogue = Epilogue::kStaged, .pack = true};
  EXPECT_EQ(reason(plain, without_padding(333, 4104, 72)), "");
  EXPECT_EQ(reason(plain, {333, 4104, 71, 72, 80, 4112}), "") << "K is clipped, wherever it ends";
  const ProblemExtents odd_k = without_padding(64, 64, 4097);
  EXPECT_NE(reason(plain, odd_k).find("packs"), std::string::npos);
  EXPECT_NE(reason(staged, odd_k).find("packs"), std::string::npos);
  EXPECT_EQ(reason(packs, odd_k), "");
  for (const ProblemExtents& odd_d :
       {without_padding(64, 4097, 64), ProblemExtents{64, 4096, 64, 64, 64, 4097},
        ProblemExtents{64, 4097, 64, 64, 64, 4104}}) {
    EXPECT_NE(reason(plain, odd_d).find("staged"), std::string::npos);
    EXPECT_NE(reason(packs, odd_d).find("staged"), std::string::npos);
    EXPECT_EQ(reason(staged, odd_d), "");
  }
  EXPECT_EQ(reason(any, without_padding(67, 71, 73)), "");
  // One row has no leading dimension to speak of.
  EXPECT_EQ(reason(plain, {1, 4096, 64, 67, 64, 4099}), "");
  EXPECT_NE(reason(plain, {2, 4096, 64, 67, 64, 4096}), "");

  const KernelConfig vectors{.bm = 4, .schedule = Schedule::kVector};
  EXPECT_EQ(reason(vectors, without_padding(4, 4097, 4097)), "");
  EXPECT_EQ(reason(vectors, without_padding(4097, 3, 4097)), "");
  EXPECT_NE(reason(vectors, without_padding(5, 5, 64)), "");
}

TEST(Config, AKernelMadeForOneProblemComputesNoOther) {
  const KernelConfig any;
  const KernelConfig one{.m = 100, .n = 512, .k = 64};
  EXPECT_EQ(why_unsupported(any, without_padding(100, 512, 64)), nullptr);
  EXPECT_EQ(why_unsupported(one, without_padding(100, 512, 64)), nullptr);
  EXPECT_NE(why_unsupported(one, without_padding(101, 512, 64)), nullptr);
  EXPECT_NE(why_unsupported(one, without_padding(100, 520, 64)), nullptr);
  EXPECT_NE(why_unsupported(one, without_padding(100, 512, 72)), nullptr);
  EXPECT_NE(why_unsupported(one, {100, 512, 64, 72, 64, 512}), nullptr);
}

TEST(Config, OnlyClustersTellOneAnotherOfTheQueue) {
  const KernelConfig alone{.walk = Walk::kDynamic};
  KernelConfig pair = alone;
  pair.cluster_m = 2;
  EXPECT_EQ(smem_layout(alone).total_bytes, smem_layout({}).total_bytes);
  EXPECT_EQ(smem_layout(pair).next % 8, 0);
  EXPECT_EQ(smem_layout(pair).total_bytes, smem_layout(pair).next + 24);
}

}  // namespace
}  // namespace hgemm
