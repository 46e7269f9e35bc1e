// The rules: each one rejects what it names, and says why.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <span>
#include <string>

#include "families/family.h"

namespace hgemm {
namespace {

constexpr GemmKind kBf16{};
constexpr GemmKind kFp16{DataType::kFp16, DataType::kFp16};
constexpr GemmKind kWideOutput{DataType::kBf16, DataType::kFp32};
constexpr GemmKind kNN{.a_major = Major::kMn}, kTT{.b_major = Major::kMn};
constexpr GemmKind kNT{.a_major = Major::kMn, .b_major = Major::kMn};
constexpr GemmKind kC{.adds_c = true}, kCFp32{.output = DataType::kFp32, .adds_c = true};
constexpr GemmKind kGated{.epilogue = {.gate = Gate::kHalves}};
constexpr GemmKind kBatched{.batched = true};
constexpr GemmKind kBatchedWithRelu{.epilogue = {.activation = Activation::kRelu}, .batched = true};
constexpr GemmKind kWithAux{.epilogue = {.activation = Activation::kGelu, .aux = true}};
constexpr GemmKind kBatchedScaled{.epilogue = {.scaled = true}, .batched = true};

constexpr GemmKind kFoundScales{.input = DataType::kE4m3,
                                .output = DataType::kE4m3,
                                .fast_sums = true,
                                .output_scaling = OutputScaling::kBlocks};
constexpr GemmKind kGatedFoundScales{.input = DataType::kE4m3,
                                     .output = DataType::kE4m3,
                                     .epilogue = {.gate = Gate::kHalves},
                                     .fast_sums = true,
                                     .output_scaling = OutputScaling::kBlocks};

constexpr GemmKind extents_of(int m, int n, int k, GemmKind kind = kBf16) {
  kind.m = m;
  kind.n = n;
  kind.k = k;
  return kind;
}

template <class RuleType, class KernelType>
struct Case {
  RuleType rule;
  typename KernelType::Config config;
  GemmKind gemm = kBf16;
  DeviceLimits limits = {};
};
using TiledCase = Case<TiledRule, TiledKernel>;
using SwapAbCase = Case<SwapAbRule, SwapAbKernel>;
using GemvCase = Case<GemvRule, GemvKernel>;

/// Returns the rules that were tried.
template <class Rule, class KernelType>
std::set<Rule> expect_rules(std::span<const Case<Rule, KernelType>> cases) {
  std::set<Rule> tried;
  for (const auto& c : cases) {
    const KernelType kernel{c.config, c.gemm};
    const Rule rule = why_invalid(kernel, c.limits);
    EXPECT_EQ(rule, c.rule) << build_name(kernel) << ": " << rule_text(rule).name;
    // What code that knows no family is told.
    const auto rejection = why_invalid(Kernel(kernel), c.limits);
    EXPECT_EQ(rejection.has_value(), rule != Rule::kValid);
    if (rejection) {
      EXPECT_EQ(rejection->rule, rule_text(rule).name);
      EXPECT_EQ(rejection->reason, rule_text(rule).reason);
    }
    tried.insert(c.rule);
  }
  return tried;
}

/// All of them, and that each has a name and a reason. `last`: of the enumeration.
template <class Rule>
std::set<Rule> all_rules(Rule last) {
  std::set<Rule> rules;
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const Rule rule = static_cast<Rule>(i);
    EXPECT_TRUE(names.insert(rule_text(rule).name).second) << rule_text(rule).name;
    EXPECT_GT(std::string(rule_text(rule).reason).size(), 10u) << rule_text(rule).name;
    rules.insert(rule);
  }
  EXPECT_STREQ(rule_text(static_cast<Rule>(static_cast<int>(last) + 1)).name, "?")
      << "there are rules after the last one";
  return rules;
}

template <class Rule>
void expect_all_tried(const std::set<Rule>& tried, Rule last) {
  for (const Rule rule : all_rules(last)) {
    EXPECT_TRUE(tried.contains(rule)) << "rule " << rule_text(rule).name << " is not tried here";
  }
}

// ---- Tiled ----

const TiledCase kTiles[] = {
    {TiledRule::kValid, {}},
    {TiledRule::kValid, {}, kFp16},
    {TiledRule::kValid, {}, kWideOutput},
    {TiledRule::kTypes, {}, {DataType::kFp32, DataType::kFp32}},
    {TiledRule::kTypes, {}, {DataType::kFp16, DataType::kBf16}},
    {TiledRule::kTileM, {.bm = 96}},
    {TiledRule::kTileM, {.bm = 448}},
    {TiledRule::kTileN, {.bn = 12}},
    {TiledRule::kTileN, {.bn = 264}},
    {TiledRule::kTileK, {.bk = 48}},
    {TiledRule::kTileK, {.bk = 256}},
    {TiledRule::kPromote, {.promote = 128}},
    {TiledRule::kStages, {.stages = 1}},
    {TiledRule::kStages, {.stages = 2, .mma_depth = 1}},
    {TiledRule::kValid, {.stages = 2, .mma_depth = 0}},
    {TiledRule::kStages, {.bm = 64, .bn = 8, .stages = 17, .consumers = 1}},
    {TiledRule::kConsumers, {.bm = 256, .consumers = 4}},
    {TiledRule::kConsumers, {.consumers = 0}},
    {TiledRule::kConsumerShare, {.bm = 192, .consumers = 2}},
    {TiledRule::kConsumerShare, {.schedule = Schedule::kColumns, .consumers = 1}},
    {TiledRule::kConsumerShare, {.bn = 72, .schedule = Schedule::kColumns}},
    {TiledRule::kConsumerShare, {.bn = 80, .schedule = Schedule::kColumns, .consumers = 3}},
    {TiledRule::kValid, {.bm = 192, .bn = 80, .schedule = Schedule::kColumns}},
    {TiledRule::kConsumerShare, {.schedule = Schedule::kPingPong, .consumers = 1}},
    {TiledRule::kConsumerShare, {.bm = 64, .schedule = Schedule::kPingPong, .consumers = 3}},
    {TiledRule::kValid, {.bm = 64, .schedule = Schedule::kPingPong}},
    {TiledRule::kConsumerShare,
     {.schedule = Schedule::kPingPong, .scheduler = TileScheduler::kSingle}},
    {TiledRule::kCluster, {.cluster_m = 3}},
    {TiledRule::kCluster, {.cluster_n = 0}},
    {TiledRule::kCluster, {.cluster_m = 4, .cluster_n = 4}},
    {TiledRule::kValid, {.cluster_m = 2, .cluster_n = 2}},
    {TiledRule::kValid, {.cluster_m = 4, .cluster_n = 2}},
    {TiledRule::kValid, {.cluster_n = 8}},
    {TiledRule::kMulticastSlice, {.bn = 8, .cluster_m = 2}},
    {TiledRule::kMulticastSlice, {.bm = 24, .bn = 128, .cluster_n = 4, .swap = true}},
    {TiledRule::kValid, {.bm = 32, .bn = 128, .cluster_n = 4, .swap = true}},
    {TiledRule::kValid, {.bn = 8, .cluster_n = 2}},
    {TiledRule::kValid, {.bn = 72, .cluster_m = 2}},
    // Chunks of an MN-major operand are divided along K, so the tile may be as narrow as it likes.
    {TiledRule::kValid, {.bn = 8, .cluster_m = 2}, kTT},
    {TiledRule::kValid, {.bk = 32, .cluster_m = 4}, kTT},
    {TiledRule::kMulticastSlice, {.bk = 32, .cluster_m = 8}, kTT},
    {TiledRule::kValid, {.bk = 32, .cluster_m = 8}, kNN},
    {TiledRule::kMulticastSlice, {.bk = 32, .cluster_n = 8}, kNN},
    {TiledRule::kValid, {.bm = 192, .bn = 80, .schedule = Schedule::kColumns}, kNN},
    {TiledRule::kLayout, {.bm = 192, .bn = 80, .schedule = Schedule::kColumns}, kTT},
    {TiledRule::kValid, {.bn = 128, .schedule = Schedule::kColumns}, kTT},
    {TiledRule::kLayout, {.bm = 80, .bn = 192, .swap = true, .schedule = Schedule::kColumns}, kNT},
    {TiledRule::kValid, {.bm = 80, .bn = 192, .swap = true, .schedule = Schedule::kColumns}, kTT},
    // With `cols` each consumer has whole strips of C: 64 elements of 2 bytes, 32 of 4 bytes.
    {TiledRule::kLayout, {.bm = 192, .bn = 192, .stages = 3, .schedule = Schedule::kColumns}, kC},
    {TiledRule::kValid,
     {.bm = 192, .bn = 192, .stages = 3, .schedule = Schedule::kColumns},
     kCFp32},
    {TiledRule::kValid, {.bn = 192, .swap = true, .schedule = Schedule::kColumns}, kC},
    // C comes through the ring, unless the store is staged or the cluster along both sides.
    {TiledRule::kAccumulators, {.bm = 256, .cluster_m = 2, .cluster_n = 2}, kC},
    {TiledRule::kValid, {.bm = 256, .bn = 192, .stages = 3}, kC},
    {TiledRule::kAccumulators,
     {.bm = 256, .bn = 136, .stages = 3, .store = StorePath::kStaged},
     kC},
    // The last chunk takes the room of a whole one.
    {TiledRule::kValid, {.bn = 136, .stages = 5}},
    {TiledRule::kSharedMemory, {.bn = 136, .stages = 5}, kTT},
    // With swap the steps of rows and columns change places.
    {TiledRule::kTileM, {.bm = 96, .bn = 96, .swap = true}},
    {TiledRule::kTileM, {.bm = 96, .bn = 448, .swap = true}},
    {TiledRule::kTileN, {.bm = 12, .swap = true}},
    {TiledRule::kTileN, {.bm = 320, .swap = true}},
    {TiledRule::kValid, {.bm = 200, .bn = 256, .stages = 3, .swap = true}},
    {TiledRule::kConsumerShare, {.bm = 128, .bn = 192, .swap = true}},
    {TiledRule::kConsumerShare, {.bm = 72, .swap = true, .schedule = Schedule::kColumns}},
    {TiledRule::kSwap, {.swap = true, .store = StorePath::kDirect}},
    {TiledRule::kValid, {.swap = true, .store = StorePath::kOverlapped}},
    {TiledRule::kMmaDepth, {.mma_depth = 2}},
    {TiledRule::kGroup, {.order = TileOrder::kGroupedRows, .group = 0}},
    {TiledRule::kGroup, {.order = TileOrder::kGroupedColumns, .group = 0}},
    {TiledRule::kGroup, {.order = TileOrder::kSnakeRows, .group = 65}},
    {TiledRule::kGroup, {.order = TileOrder::kSnakeColumns, .group = -1}},
    {TiledRule::kValid, {.order = TileOrder::kSnakeColumns, .group = 64}},
    {TiledRule::kGroup, {.order = TileOrder::kHilbert, .group = 8}},
    {TiledRule::kAccumulators, {.bm = 256, .bn = 208, .stages = 3}},
    {TiledRule::kValid, {.bm = 256, .bn = 200, .stages = 3}},
    {TiledRule::kValid, {.bm = 256, .bn = 208, .stages = 3, .store = StorePath::kDirect}},
    // A turn's tile is one consumer's.
    {TiledRule::kAccumulators, {.bm = 128, .bn = 208, .schedule = Schedule::kPingPong}},
    {TiledRule::kValid, {.bm = 128, .bn = 200, .schedule = Schedule::kPingPong}},
    {TiledRule::kAccumulators,
     {.bn = 192, .schedule = Schedule::kPingPong, .store = StorePath::kStaged}},
    {TiledRule::kValid,
     {.bn = 176, .schedule = Schedule::kPingPong, .store = StorePath::kStaged, .pack = true}},
    // A tile that waits has its place beside the next one's accumulators, in the output's type.
    {TiledRule::kAccumulators,
     {.bm = 256, .bn = 136, .stages = 3, .store = StorePath::kOverlapped}},
    {TiledRule::kValid, {.bm = 256, .bn = 128, .stages = 3, .store = StorePath::kOverlapped}},
    {TiledRule::kAccumulators,
     {.bm = 256, .bn = 104, .stages = 3, .store = StorePath::kOverlapped},
     kWideOutput},
    {TiledRule::kValid,
     {.bm = 256, .bn = 96, .stages = 3, .store = StorePath::kOverlapped},
     kWideOutput},
    {TiledRule::kOperandRegisters, {.bm = 192, .bn = 208, .stages = 3, .consumers = 3}},
    {TiledRule::kSharedMemory, {.bm = 128, .bn = 256, .stages = 5}},
};

const TiledCase kWork[] = {
    {TiledRule::kOutputBox,
     {.bn = 120, .bk = 128},
     {.input = DataType::kE4m3, .output = DataType::kE4m3, .fast_sums = true}},
    {TiledRule::kOverlap, {.store = StorePath::kOverlapped, .scheduler = TileScheduler::kSingle}},
    {TiledRule::kOverlap, {.store = StorePath::kOverlapped, .scheduler = TileScheduler::kStreamK}},
    {TiledRule::kOverlap, {.store = StorePath::kOverlapped}, kWithAux},
    {TiledRule::kValid, {}, kWithAux},
    {TiledRule::kSplits, {.scheduler = TileScheduler::kSplitK}},
    {TiledRule::kSplits, {.scheduler = TileScheduler::kSplitK, .splits = 33}},
    {TiledRule::kSplits, {.scheduler = TileScheduler::kStreamK, .splits = 2}},
    {TiledRule::kValid,
     {.store = StorePath::kDirect, .scheduler = TileScheduler::kSplitK, .splits = 32}},
    {TiledRule::kValid,
     {.swap = true, .store = StorePath::kDirect, .scheduler = TileScheduler::kSplitK, .splits = 2}},
    {TiledRule::kSplitStore, {.scheduler = TileScheduler::kSplitK, .splits = 2}},
    {TiledRule::kValid,
     {.store = StorePath::kStaged, .scheduler = TileScheduler::kSplitK, .splits = 2}},
    // The compiler keeps shares of sums within the registers of kernel entry.
    {TiledRule::kAccumulators,
     {.bm = 256,
      .bn = 136,
      .stages = 3,
      .store = StorePath::kDirect,
      .scheduler = TileScheduler::kSplitK,
      .splits = 2}},
    {TiledRule::kValid,
     {.bm = 256,
      .bn = 128,
      .stages = 3,
      .store = StorePath::kDirect,
      .scheduler = TileScheduler::kSplitK,
      .splits = 2},
     kWideOutput},
    {TiledRule::kSplits, {.scheduler = TileScheduler::kClusterSplitK}},
    {TiledRule::kSplits, {.scheduler = TileScheduler::kClusterSplitK, .splits = 9}},
    {TiledRule::kValid,
     {.bm = 64, .bn = 64, .consumers = 1, .scheduler = TileScheduler::kClusterSplitK, .splits = 8}},
    {TiledRule::kValid, {.cluster_m = 2, .scheduler = TileScheduler::kClusterSplitK, .splits = 4}},
    {TiledRule::kCluster,
     {.cluster_m = 2, .scheduler = TileScheduler::kClusterSplitK, .splits = 5}},
    {TiledRule::kClusterSplit,
     {.store = StorePath::kDirect, .scheduler = TileScheduler::kClusterSplitK, .splits = 2}},
    {TiledRule::kClusterSplit,
     {.schedule = Schedule::kPingPong, .scheduler = TileScheduler::kClusterSplitK, .splits = 2}},
    // 7 times 2 boxes of 16 KB of sums.
    {TiledRule::kSharedMemory,
     {.bm = 256,
      .bn = 128,
      .consumers = 2,
      .scheduler = TileScheduler::kClusterSplitK,
      .splits = 8}},
    // A producer that finds parts of tiles cannot do with 24 registers.
    {TiledRule::kAccumulators,
     {.bm = 256, .bn = 200, .stages = 3, .scheduler = TileScheduler::kStreamK}},
    {TiledRule::kValid, {.bm = 256, .bn = 192, .stages = 3, .scheduler = TileScheduler::kStreamK}},
    // Sums of fp32 outputs that were read have their place beside those to be written.
    {TiledRule::kFp32Sums,
     {.bm = 256, .bn = 176, .stages = 3, .scheduler = TileScheduler::kStreamK},
     kWideOutput},
    {TiledRule::kValid,
     {.bm = 256, .bn = 168, .stages = 3, .scheduler = TileScheduler::kStreamK},
     kWideOutput},
    {TiledRule::kFp32Sums,
     {.bn = 144,
      .schedule = Schedule::kPingPong,
      .store = StorePath::kDirect,
      .scheduler = TileScheduler::kStreamK},
     kWideOutput},
    {TiledRule::kValid,
     {.bn = 136,
      .schedule = Schedule::kPingPong,
      .store = StorePath::kDirect,
      .scheduler = TileScheduler::kStreamK},
     kWideOutput},
    {TiledRule::kFp32Sums,
     {.bm = 192, .bn = 64, .consumers = 3, .scheduler = TileScheduler::kStreamK},
     kWideOutput},
    {TiledRule::kValid,
     {.bm = 192, .bn = 64, .consumers = 3, .scheduler = TileScheduler::kStreamK}},
    {TiledRule::kPdl, {.scheduler = TileScheduler::kStreamK, .pdl = true}},
    {TiledRule::kPdl,
     {.store = StorePath::kDirect, .scheduler = TileScheduler::kSplitK, .splits = 2, .pdl = true}},
    {TiledRule::kPdl, {.hold = true}},
    {TiledRule::kValid, {.pdl = true, .hold = true}},
    {TiledRule::kCtasPerSm, {.ctas_per_sm = 3}},
    {TiledRule::kCtasPerSm, {.bm = 192, .bn = 64, .consumers = 3, .ctas_per_sm = 2}},
    {TiledRule::kSharedMemory, {.bm = 64, .stages = 5, .consumers = 1, .ctas_per_sm = 2}},
    {TiledRule::kValid, {.bm = 64, .consumers = 1, .ctas_per_sm = 2}},
    {TiledRule::kOperandRegisters,
     {.bm = 64, .bn = 208, .stages = 3, .consumers = 1, .ctas_per_sm = 2}},
    // One CTA for each SM that is taken, and a cluster at least.
    {TiledRule::kSms, {.ctas_per_sm = 2, .sms = kFewestSms}},
    {TiledRule::kSms, {.ctas_per_sm = 2, .sms = 100}},
    {TiledRule::kSms, {.scheduler = TileScheduler::kSingle, .sms = kFewestSms}},
    {TiledRule::kSms, {.scheduler = TileScheduler::kSingle, .sms = 100}},
    {TiledRule::kSms, {.scheduler = TileScheduler::kClusterSplitK, .splits = 2, .sms = 100}},
    {TiledRule::kSms, {.scheduler = TileScheduler::kStreamK, .sms = kFewestSms}},
    {TiledRule::kSms,
     {.store = StorePath::kDirect,
      .scheduler = TileScheduler::kSplitK,
      .splits = 2,
      .sms = kFewestSms}},
    {TiledRule::kSms, {.cluster_m = 2, .sms = 1}},
    {TiledRule::kSms, {.sms = kMaxSms + 1}},
    {TiledRule::kSms, {.sms = -2}},
    {TiledRule::kValid, {.sms = 1}},
    {TiledRule::kValid, {.cluster_m = 2, .sms = 2}},
    {TiledRule::kValid, {.sms = kMaxSms}},
    {TiledRule::kValid, {.scheduler = TileScheduler::kStreamK, .sms = 100}},
    {TiledRule::kValid, {.scheduler = TileScheduler::kDynamic, .sms = kFewestSms}},
    {TiledRule::kDynamic,
     {.bm = 64, .bn = 128, .consumers = 1, .scheduler = TileScheduler::kDynamic, .ctas_per_sm = 2}},
    {TiledRule::kValid,  // whose producer keeps its registers
     {.bm = 64, .bn = 64, .consumers = 1, .scheduler = TileScheduler::kDynamic, .ctas_per_sm = 2}},
    {TiledRule::kDynamic, {.schedule = Schedule::kPingPong, .scheduler = TileScheduler::kDynamic}},
    {TiledRule::kDynamic, {.cluster_m = 2, .cluster_n = 2, .scheduler = TileScheduler::kDynamic}},
    {TiledRule::kDynamic,
     {.bm = 192, .bn = 128, .consumers = 3, .scheduler = TileScheduler::kDynamic}},
    {TiledRule::kValid,
     {.cluster_m = 2,
      .store = StorePath::kOverlapped,
      .scheduler = TileScheduler::kDynamic,
      .pdl = true}},
    {TiledRule::kGpc, {.scheduler = TileScheduler::kDynamic, .gpc = true}},
    {TiledRule::kGpc, {.pdl = true, .gpc = true}},
    {TiledRule::kGpc, {.bm = 64, .bn = 64, .consumers = 1, .ctas_per_sm = 2, .gpc = true}},
    {TiledRule::kValid, {.cluster_m = 2, .gpc = true}},
    {TiledRule::kValid, {.scheduler = TileScheduler::kSingle, .gpc = true}},
    {TiledRule::kValid, {.scheduler = TileScheduler::kStreamK, .gpc = true}},
    {TiledRule::kValid,
     {.store = StorePath::kDirect, .scheduler = TileScheduler::kSplitK, .splits = 8, .gpc = true}},
    {TiledRule::kMemoryHint, {.promotion = 0}},
    {TiledRule::kMemoryHint, {.promotion = 512}},
    {TiledRule::kValid, {.promotion = 64}},
    {TiledRule::kValid, {.promotion = 128}},
    {TiledRule::kValid, {.promotion = 256}},
    {TiledRule::kMemoryHint, {.store = StorePath::kDirect, .d_hint = CacheHint::kEvictFirst}},
    {TiledRule::kMemoryHint, {.store = StorePath::kStaged, .d_hint = CacheHint::kEvictFirst}},
    {TiledRule::kValid, {.store = StorePath::kOverlapped, .d_hint = CacheHint::kEvictFirst}},
};

const TiledCase kProbedAndFixed[] = {
    {TiledRule::kGate, {.bn = 136}, kGated},
    {TiledRule::kBatch, {}, kBatchedWithRelu},
    {TiledRule::kBatch, {}, {.epilogue = {.scaled = true}, .adds_c = true, .batched = true}},
    {TiledRule::kValid, {}, kBatchedScaled},
    {TiledRule::kValid, {.pack = true}, kBatched},
    {TiledRule::kValid, {}, {.batched = true, .by_pointers = true}},
    {TiledRule::kBatch, {.pack = true}, {.batched = true, .by_pointers = true}},
    {TiledRule::kBatch,  // for the registers of its producer
     {.bm = 256, .bn = 200, .stages = 3},
     {.batched = true, .by_pointers = true}},
    {TiledRule::kValid, {.bm = 256, .bn = 200, .stages = 3}, kBatched},
    {TiledRule::kValid, {.bm = 64, .bn = 64, .consumers = 1, .ctas_per_sm = 2}, kBatched},
    {TiledRule::kGate, {}, {.epilogue = {.gate = Gate::kHalves, .scaled = true}}},
    {TiledRule::kValid,
     {.cluster_m = 2, .swap = true, .scheduler = TileScheduler::kDynamic},
     kBatched},
    {TiledRule::kProbe, {.probe = true}, kBatched},
    {TiledRule::kProbe, {.schedule = Schedule::kPingPong, .probe = true}},
    {TiledRule::kProbe, {.scheduler = TileScheduler::kStreamK, .probe = true}},
    {TiledRule::kProbe, {.scheduler = TileScheduler::kDynamic, .probe = true}},
    {TiledRule::kProbe, {.scheduler = TileScheduler::kClusterSplitK, .splits = 2, .probe = true}},
    {TiledRule::kProbe, {.bm = 256, .bn = 200, .stages = 3, .probe = true}},
    {TiledRule::kProbe, {.pack = true, .probe = true}},
    {TiledRule::kProbe, {.gpc = true, .probe = true}},
    {TiledRule::kValid, {.bn = 256, .store = StorePath::kOverlapped, .probe = true}},
    {TiledRule::kValid, {.bk = 128}, kFoundScales},
    {TiledRule::kOutputScales, {.bn = 192, .bk = 128}, kFoundScales},
    {TiledRule::kOutputScales, {.bk = 128, .schedule = Schedule::kColumns}, kFoundScales},
    {TiledRule::kValid,
     {.bn = 256, .bk = 128, .stages = 3, .schedule = Schedule::kColumns},
     kFoundScales},
    {TiledRule::kOutputScales, {.bk = 128, .swap = true}, kFoundScales},
    {TiledRule::kOutputScales,
     {.bk = 128, .store = StorePath::kDirect, .scheduler = TileScheduler::kSplitK, .splits = 2},
     kFoundScales},
    {TiledRule::kValid,
     {.bk = 128, .scheduler = TileScheduler::kClusterSplitK, .splits = 2},
     kFoundScales},
    {TiledRule::kOutputScales, {.bk = 128}, kGatedFoundScales},
    {TiledRule::kValid, {.bn = 256, .bk = 128, .stages = 3}, kGatedFoundScales},
    {TiledRule::kValid, {.schedule = Schedule::kColumns, .probe = true}},
    {TiledRule::kValid, {.fixed = true}},  // for whichever problem
    {TiledRule::kValid, {.fixed = true}, extents_of(1, 8, 1 << 30)},
    {TiledRule::kExtents, {.fixed = true}, extents_of(-1, 8, 8)},
    {TiledRule::kExtents, {.fixed = true}, extents_of(1, 0, 8)},
    {TiledRule::kExtents, {.fixed = true}, extents_of(1, 9, 8)},
    {TiledRule::kExtents, {.fixed = true}, extents_of(2, 8, 9)},
    {TiledRule::kExtents, {.fixed = true}, extents_of(1, 4, 8)},
    {TiledRule::kValid, {.fixed = true}, extents_of(1, 4, 8, kWideOutput)},
    {TiledRule::kValid,
     {.store = StorePath::kStaged, .pack = true, .fixed = true},
     extents_of(1, 9, 7)},
    {TiledRule::kExtents, {.store = StorePath::kStaged, .fixed = true}, extents_of(2, 9, 7)},
};

TEST(TiledRules, RejectWhatTheyName) {
  std::set<TiledRule> tried = expect_rules<TiledRule, TiledKernel>(kTiles);
  tried.merge(expect_rules<TiledRule, TiledKernel>(kWork));
  tried.merge(expect_rules<TiledRule, TiledKernel>(kProbedAndFixed));
  expect_all_tried(tried, TiledRule::kExtents);
}

// ---- Swap-AB ----

const SwapAbCase kSwapAb[] = {
    {SwapAbRule::kValid, {}},
    {SwapAbRule::kValid, {}, kFp16},
    {SwapAbRule::kValid, {}, kWideOutput},
    {SwapAbRule::kTypes, {}, {DataType::kFp32, DataType::kFp32}},
    {SwapAbRule::kTileM, {.bm = 264}},
    {SwapAbRule::kTileM, {.bm = 12}},
    {SwapAbRule::kTileM, {.bm = 0}},
    {SwapAbRule::kValid, {.bm = 128}},
    {SwapAbRule::kValid, {.bm = 256, .stages = 3}},
    {SwapAbRule::kTileN, {.bn = 96}},
    {SwapAbRule::kTileN, {.bn = 256}},
    {SwapAbRule::kValid, {.bn = 192}},
    {SwapAbRule::kTileK, {.bk = 32}},
    {SwapAbRule::kPromote, {.promote = 256}},
    {SwapAbRule::kMmaDepth, {.mma_depth = 2}},
    {SwapAbRule::kStages, {.stages = 2}},
    {SwapAbRule::kValid, {.stages = 2, .mma_depth = 0}},
    {SwapAbRule::kStages, {.bm = 8, .bk = 64, .stages = 17}},
    {SwapAbRule::kStore, {.store = StorePath::kDirect}},
    {SwapAbRule::kStore, {.store = StorePath::kOverlapped}},
    {SwapAbRule::kValid, {.store = StorePath::kStaged}},
    {SwapAbRule::kSplits, {.splits = 9}},
    {SwapAbRule::kSplits, {.splits = 0}},
    {SwapAbRule::kValid, {.bm = 8, .bn = 128, .splits = 8, .pdl = true}},
    {SwapAbRule::kCtasPerSm, {.ctas_per_sm = 3}},
    {SwapAbRule::kCtasPerSm, {.bn = 192, .ctas_per_sm = 2}},
    {SwapAbRule::kAccumulators, {.bm = 88, .bn = 128, .bk = 64, .stages = 3, .ctas_per_sm = 2}},
    {SwapAbRule::kValid, {.bm = 80, .bn = 128, .bk = 64, .stages = 3, .ctas_per_sm = 2}},
    {SwapAbRule::kAccumulators,
     {.bm = 80, .bn = 128, .bk = 64, .stages = 3, .store = StorePath::kStaged, .ctas_per_sm = 2}},
    {SwapAbRule::kSharedMemory, {.bm = 128, .bn = 192, .bk = 128, .stages = 3}},
    {SwapAbRule::kValid, {.bm = 128, .bn = 192, .bk = 128, .stages = 2, .mma_depth = 0}},
    {SwapAbRule::kMemoryHint, {.promotion = 100}},
    {SwapAbRule::kValid, {.promotion = 64}},
    {SwapAbRule::kValid, {.promotion = 128}},
    {SwapAbRule::kValid, {.promotion = 256}},
    {SwapAbRule::kMemoryHint, {.store = StorePath::kStaged, .d_hint = CacheHint::kEvictLast}},
    {SwapAbRule::kValid, {.d_hint = CacheHint::kEvictLast}},
    {SwapAbRule::kGate, {}, {.b_major = Major::kMn, .epilogue = {.gate = Gate::kHalves}}},
    {SwapAbRule::kBatch, {}, kBatched},
    {SwapAbRule::kOutputScales, {.bk = 128}, kFoundScales},
    {SwapAbRule::kPack, {.pdl = true, .pack = true}},
    {SwapAbRule::kValid, {.pdl = true, .late = true, .pack = true}},
    {SwapAbRule::kPdl, {.late = true}},
    {SwapAbRule::kPdl, {.hold = true}},
    {SwapAbRule::kValid, {.pdl = true, .hold = true}},
    {SwapAbRule::kValid, {.fixed = true}, extents_of(16, 64, 1 << 30)},
    {SwapAbRule::kExtents, {.fixed = true}, extents_of(-1, 64, 64)},
    {SwapAbRule::kExtents, {.fixed = true}, extents_of(16, 65, 64)},
    {SwapAbRule::kValid,
     {.store = StorePath::kStaged, .pack = true, .fixed = true},
     extents_of(16, 65, 67)},
};

TEST(SwapAbRules, RejectWhatTheyName) {
  expect_all_tried(expect_rules<SwapAbRule, SwapAbKernel>(kSwapAb), SwapAbRule::kExtents);
}

// ---- GEMV ----

constexpr DeviceLimits kLittleSmem{.smem_bytes_per_cta = 36'000};

const GemvCase kGemv[] = {
    {GemvRule::kValid, {}},
    {GemvRule::kValid, {}, kFp16},
    {GemvRule::kValid, {}, kWideOutput},
    {GemvRule::kTypes, {}, {DataType::kBf16, DataType::kFp16}},
    {GemvRule::kVectors, {.vectors = 3}},
    {GemvRule::kVectors, {.vectors = 0}},
    {GemvRule::kVectors, {.vectors = 32, .rows = 1}},
    {GemvRule::kRows, {.rows = 12}},
    {GemvRule::kRows, {.rows = 0}},
    {GemvRule::kStep, {.step = 768}},
    {GemvRule::kStep, {.step = 0}},
    {GemvRule::kStep, {.step = -256}},
    {GemvRule::kStep, {.step = 128}},
    {GemvRule::kStep, {.step = 4096}},
    {GemvRule::kDepth, {.depth = 3}},
    {GemvRule::kWarps, {.warps = 16}},
    {GemvRule::kWarps, {.warps = 0}},
    {GemvRule::kRows, {.vectors = 16, .rows = 32, .step = 256, .depth = 1}},
    {GemvRule::kRegisters, {.rows = 64, .step = 2048}},
    {GemvRule::kValid, {.vectors = 16, .rows = 1, .step = 256}},
    {GemvRule::kValid, {.rows = 8, .warps = 4}},
    {GemvRule::kValid, {.rows = 4, .warps = 12}},
    {GemvRule::kValid, {.rows = 4, .depth = 1}},
    {GemvRule::kValid, {.vectors = 4, .rows = 4, .step = 512, .warps = 12, .splits = 3}},
    {GemvRule::kSplits, {.rows = 1, .splits = 9}},
    {GemvRule::kSplits, {.rows = 1, .splits = 0}},
    {GemvRule::kValid, {.rows = 1, .splits = 8}},
    {GemvRule::kCtasPerSm, {.ctas_per_sm = 3}},
    {GemvRule::kSharedMemory,
     {.vectors = 16, .rows = 1, .step = 256, .splits = 8},
     kBf16,
     kLittleSmem},
    {GemvRule::kValid, {.vectors = 16, .rows = 1, .step = 256, .splits = 8}},
    {GemvRule::kValid, {.fixed = true}, extents_of(1, 9, 7)},
    {GemvRule::kValid, {.fixed = true}, extents_of(9, 1, 1 << 30)},
    {GemvRule::kGate, {.rows = 8, .warps = 8}, kGated},
    {GemvRule::kBatch, {}, kBatched},
    {GemvRule::kLayout, {}, kNN},
    {GemvRule::kLayout, {}, kTT},
    {GemvRule::kExtents, {.fixed = true}, extents_of(2, 2, 64)},
    {GemvRule::kExtents, {.fixed = true}, extents_of(1, -1, 64)},
};

TEST(GemvRules, RejectWhatTheyName) {
  expect_all_tried(expect_rules<GemvRule, GemvKernel>(kGemv), GemvRule::kExtents);
}

}  // namespace
}  // namespace hgemm
