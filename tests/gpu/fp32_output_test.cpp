// Problems whose D is fp32, by kernels of every family: each store path, scheduler and schedule
// that the rules leave, at aligned and odd sizes. An output that was rounded to 16 bits on its way
// is hundreds of times further off than the tolerance.
#include <gmock/gmock.h>

#include <string>
#include <utility>

#include "families/family.h"
#include "support.h"
#include "worker/remote.h"

namespace hgemm::testing {
namespace {

using ::testing::UnorderedElementsAreArray;

GemmProblem with_fp32_output(DataType input, std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmProblem problem{.m = m, .n = n, .k = k, .tag = ""};
  problem.set_types(input);
  problem.d_type = DataType::kFp32;
  return problem;
}
GemmProblem padded(GemmProblem problem, std::int64_t lda, std::int64_t ldb, std::int64_t ldd) {
  problem.lda = lda;
  problem.ldb = ldb;
  problem.ldd = ldd;
  return problem;
}

/// Tails on every side, more tiles than SMs and fewer, one k block and many, one row. Four fp32
/// elements are a unit of 16 bytes, so that N and D's leading dimension may be other multiples of 4
/// than those of 16-bit outputs.
std::vector<GemmProblem> aligned_problems(DataType input) {
  return {with_fp32_output(input, 300, 520, 1032),
          with_fp32_output(input, 2100, 1036, 264),
          with_fp32_output(input, 257, 516, 64),
          with_fp32_output(input, 1, 260, 512),
          with_fp32_output(input, 128, 4, 8),
          padded(with_fp32_output(input, 130, 260, 104), 112, 120, 268)};
}
/// Rows of D that begin at any element, of aligned operands and of others.
std::vector<GemmProblem> odd_problems(DataType input) {
  return {with_fp32_output(input, 257, 517, 520),
          padded(with_fp32_output(input, 70, 131, 72), 72, 80, 139),
          with_fp32_output(input, 333, 517, 265),
          with_fp32_output(input, 1501, 643, 71),
          with_fp32_output(input, 1, 3, 3),
          padded(with_fp32_output(input, 70, 131, 67), 70, 77, 141)};
}
std::vector<GemmProblem> all_problems(DataType input) {
  std::vector<GemmProblem> problems = aligned_problems(input);
  for (const GemmProblem& problem : odd_problems(input)) problems.push_back(problem);
  return problems;
}

class Fp32Output : public GpuTest, public ::testing::WithParamInterface<DataType> {
 protected:
  static DataType input() { return GetParam(); }
  /// None if the rules reject it for these types.
  static std::optional<Kernel> kernel_of(const KernelConfig& config) {
    const Kernel kernel = kernel_for(config, with_fp32_output(input(), 1, 1, 1));
    if (why_invalid(kernel)) return std::nullopt;
    return kernel;
  }
  static std::vector<Kernel> valid(const std::vector<KernelConfig>& configs) {
    std::vector<Kernel> kernels;
    for (const KernelConfig& config : configs) {
      const auto kernel = kernel_of(config);
      EXPECT_TRUE(kernel) << label(config) << " is not valid";
      if (kernel) kernels.push_back(*kernel);
    }
    return kernels;
  }
  /// All must compute at least one of the problems.
  void expect_all_correct(const std::vector<Kernel>& kernels,
                          const std::vector<GemmProblem>& problems) const {
    const std::vector<Build> builds = compile(kernels);
    std::vector<std::string> names;
    for (const Build& build : builds) names.push_back(build.facts.name);
    EXPECT_THAT(expect_correct(builds, problems, without_rotation()),
                UnorderedElementsAreArray(names));
  }
};

INSTANTIATE_TEST_SUITE_P(Inputs, Fp32Output, ::testing::Values(DataType::kBf16, DataType::kFp16),
                         [](const auto& type) { return std::string(to_string(type.param)); });

// ---- Tiled ----

using enum TileScheduler;

/// A tile for consumers of a schedule, so narrow that every store path has the registers for it;
/// its columns end in a tail of 24, of which no whole box is made.
TiledConfig tile(Schedule schedule, int consumers) {
  const int rows = schedule == Schedule::kRows ? 64 * consumers : 64;
  const int columns = schedule == Schedule::kColumns ? 56 * consumers : 120;
  return {.bm = rows, .bn = columns, .stages = 3, .schedule = schedule, .consumers = consumers};
}

/// The kernels of all store paths and schedulers that the rules leave the schedule.
std::vector<TiledKernel> stores_and_schedulers(Schedule schedule, int consumers, DataType input) {
  std::vector<TiledKernel> kernels;
  for (const StorePath store :
       {StorePath::kDirect, StorePath::kTma, StorePath::kStaged, StorePath::kOverlapped}) {
    for (const TileScheduler scheduler :
         {kPersistent, kSingle, kSplitK, kStreamK, kClusterSplitK, kDynamic}) {
      TiledConfig config = tile(schedule, consumers);
      config.store = store;
      config.scheduler = scheduler;
      config.splits = scheduler == kSplitK || scheduler == kClusterSplitK ? 3 : 1;
      config.pack = store == StorePath::kStaged && scheduler != kPersistent;
      const Kernel kernel = kernel_for(config, with_fp32_output(input, 1, 1, 1));
      if (!why_invalid(kernel)) kernels.push_back(std::get<TiledKernel>(kernel));
    }
  }
  return kernels;
}

TEST_P(Fp32Output, EveryStoreAndSchedulerOfTiles) {
  struct Consumers {
    Schedule schedule;
    int count;
    std::size_t combinations;  ///< that the rules leave
  };
  // An overlapped store goes with persistent and dynamic tiles alone, parts of a cluster not with
  // the direct one, equal parts in memory only with the direct and the staged one; ping-pong
  // consumers take neither single tiles nor a queue's nor a cluster's; of three consumers none may
  // stream tiles, and only those that need no more registers take tiles from a queue.
  for (const auto& [schedule, count, combinations] : {Consumers{Schedule::kRows, 1, 18},
                                                      {Schedule::kRows, 2, 18},
                                                      {Schedule::kColumns, 2, 18},
                                                      {Schedule::kPingPong, 2, 9},
                                                      {Schedule::kRows, 3, 12},
                                                      {Schedule::kColumns, 3, 15}}) {
    std::vector<Kernel> kernels;
    for (const TiledKernel& kernel : stores_and_schedulers(schedule, count, input())) {
      kernels.push_back(kernel);
    }
    SCOPED_TRACE(label(config_of(kernels.front())));
    EXPECT_EQ(kernels.size(), combinations);
    expect_all_correct(kernels, all_problems(input()));
  }
}

// As wide as they may be (rules fp32_sums and accumulators), by the schedulers that add up in
// memory.
TEST_P(Fp32Output, TheWidestSumsInMemory) {
  const auto with = [](TiledConfig config, TileScheduler scheduler, StorePath store) {
    config.stages = 3;
    config.scheduler = scheduler;
    config.splits = scheduler == kSplitK ? 3 : 1;
    if (scheduler == kSplitK) config.bn = config.consumers == 1 ? 160 : 128;
    config.store = store;
    config.pack = store == StorePath::kStaged;
    return config;
  };
  const TiledConfig tall{.bm = 256, .bn = 168};
  const TiledConfig alone{.bm = 128, .bn = 160, .consumers = 1};
  const TiledConfig in_turns{.bm = 128, .bn = 168, .schedule = Schedule::kPingPong};
  std::vector<KernelConfig> widest;
  for (const TileScheduler scheduler : {kSplitK, kStreamK}) {
    for (const StorePath store : {StorePath::kDirect, StorePath::kTma, StorePath::kStaged}) {
      if (scheduler == kSplitK && store == StorePath::kTma) continue;
      TiledConfig turns = with(in_turns, scheduler, store);
      if (scheduler == kStreamK && store == StorePath::kDirect) turns.bn = 136;
      const TiledConfig configs[] = {with(tall, scheduler, store), with(alone, scheduler, store),
                                     turns};
      for (const TiledConfig& config : configs) {
        widest.emplace_back(config);
        TiledConfig wider = config;
        wider.bn += 8;
        EXPECT_FALSE(kernel_of(wider)) << label(wider) << " is valid";
      }
    }
  }
  expect_all_correct(valid(widest), all_problems(input()));
}

// With what else changes where a tile comes from and how it leaves: clusters, two CTAs on an SM,
// launches that overlap, hints, narrow and wide boxes.
TEST_P(Fp32Output, OtherAxesOfTiles) {
  std::vector<Kernel> kernels = valid({
      TiledConfig{.bm = 64, .bn = 8, .stages = 16, .consumers = 1},
      TiledConfig{.bm = 64, .bn = 24, .bk = 32, .consumers = 1, .store = StorePath::kDirect},
      TiledConfig{.bm = 128, .bn = 256, .stages = 3, .cluster_m = 2, .order = TileOrder::kHilbert},
      TiledConfig{.bm = 256,
                  .bn = 96,
                  .stages = 3,
                  .cluster_n = 2,
                  .order = TileOrder::kSnakeRows,
                  .group = 4,
                  .store = StorePath::kOverlapped,
                  .d_hint = CacheHint::kEvictFirst},
      TiledConfig{.bm = 256, .bn = 152, .stages = 3, .scheduler = kClusterSplitK, .splits = 2},
      TiledConfig{.bm = 64,
                  .bn = 104,
                  .stages = 3,
                  .consumers = 1,
                  .scheduler = kClusterSplitK,
                  .splits = 8,
                  .ctas_per_sm = 2},
      TiledConfig{.bm = 64,
                  .bn = 32,
                  .stages = 3,
                  .consumers = 1,
                  .d_hint = CacheHint::kEvictLast,
                  .ctas_per_sm = 2,
                  .pdl = true},
      TiledConfig{.bn = 64, .stages = 3, .sms = kFewestSms},
      TiledConfig{.bn = 64, .stages = 3, .scheduler = kStreamK, .sms = 50},
      TiledConfig{.bm = 192,
                  .bn = 160,
                  .stages = 2,
                  .consumers = 3,
                  .mma_depth = 0,
                  .store = StorePath::kStaged,
                  .pack = true},
  });
  TiledConfig fixed{.bm = 128, .bn = 72, .cluster_m = 2, .fixed = true};
  for (const GemmProblem& problem : aligned_problems(input())) {
    if (problem.is_packed()) kernels.push_back(kernel_for(fixed, problem));
  }
  fixed = {.bm = 64, .consumers = 1, .store = StorePath::kStaged, .pack = true, .fixed = true};
  for (const GemmProblem& problem : odd_problems(input())) {
    if (problem.is_packed()) kernels.push_back(kernel_for(fixed, problem));
  }
  expect_all_correct(kernels, all_problems(input()));
}

// ---- Few rows ----

TEST_P(Fp32Output, SwapAb) {
  std::vector<KernelConfig> configs;
  for (const int bm : {8, 40, 128}) {
    for (const int bn : {64, 128, 192}) {
      for (const int splits : {1, 3}) {
        const SwapAbConfig config{.bm = bm, .bn = bn, .bk = 64, .stages = 3, .splits = splits};
        configs.emplace_back(config);
        SwapAbConfig staged = config;
        staged.store = StorePath::kStaged;
        configs.emplace_back(staged);
        staged.pack = true;
        configs.emplace_back(staged);
      }
    }
  }
  configs.emplace_back(
      SwapAbConfig{.bm = 8, .bn = 128, .stages = 3, .mma_depth = 0, .splits = 8, .pdl = true});
  configs.emplace_back(SwapAbConfig{.bm = 16,
                                    .bn = 64,
                                    .bk = 128,
                                    .stages = 3,
                                    .splits = 2,
                                    .d_hint = CacheHint::kEvictFirst,
                                    .ctas_per_sm = 2});
  expect_all_correct(valid(configs), all_problems(input()));
}

TEST_P(Fp32Output, Gemv) {
  std::vector<KernelConfig> configs;
  for (const int vectors : {1, 2, 4, 8, 16}) {
    for (const int splits : {1, 3}) {
      configs.emplace_back(
          GemvConfig{.vectors = vectors, .rows = 8, .step = 256, .depth = 2, .splits = splits});
      configs.emplace_back(GemvConfig{
          .vectors = vectors, .rows = 2, .step = 512, .depth = 1, .splits = splits, .pdl = true});
    }
  }
  std::vector<GemmProblem> problems;
  for (const std::int64_t few : {1, 2, 3, 7, 16}) {
    // A few rows of A, then of B; rows of whole units, and of which each begins elsewhere.
    problems.push_back(with_fp32_output(input(), few, 260, 1032));
    problems.push_back(with_fp32_output(input(), few, 517, 1201));
    problems.push_back(with_fp32_output(input(), 300, few, 1032));
    problems.push_back(padded(with_fp32_output(input(), 133, few, 5001), 5003, 5010, few + 3));
  }
  problems.push_back(with_fp32_output(input(), 1, 131, 3));
  expect_all_correct(valid(configs), problems);
}

// ---- What a tune does with them ----

// The worker prepares, verifies and times baselines and kernels of all families.
TEST_P(Fp32Output, AWorkerMeasuresThemBesideTheBaselines) {
  const GemmProblem problem = with_fp32_output(input(), 16, 1024, 512);
  RemoteMeasurer measurer({program(), "worker"});
  const Measurer::Opened opened = measurer.open(problem, {.seed = 1});
  ASSERT_GE(opened.baselines.size(), 2u);
  EXPECT_EQ(opened.baselines.front(), kCublasLabel);
  for (std::size_t i = 0; i < opened.baselines.size(); ++i) {
    EXPECT_EQ(opened.prepared.at(i).status, Status::kOk)
        << opened.baselines[i] << ": " << opened.prepared[i].message;
  }
  std::vector<std::string> labels{std::string(kCublasLabel)};
  std::vector<Kernel> kernels;
  for (const KernelConfig& config :
       {KernelConfig(TiledConfig{.bm = 64, .bn = 64, .consumers = 1}),
        KernelConfig(SwapAbConfig{.bm = 16, .bn = 64, .stages = 4, .splits = 2}),
        KernelConfig(GemvConfig{.vectors = 16, .rows = 8, .step = 256})}) {
    labels.push_back(label(config));
    kernels.push_back(kernel_for(config, problem));
  }
  for (const Build& build : compile(kernels)) {
    ASSERT_EQ(build.status, Status::kOk) << build.facts.name << ": " << build.message;
    const Prepared prepared = measurer.prepare(build);
    EXPECT_EQ(prepared.status, Status::kOk) << build.facts.name << ": " << prepared.message;
    EXPECT_LE(prepared.verdict.error, problem.tolerance());
  }
  measurer.settle(Pace::kRested);
  const auto rounds = measurer.rounds(labels, Pace::kRested);
  ASSERT_EQ(rounds.size(), 1u);
  ASSERT_EQ(rounds[0].size(), labels.size());
  for (const Sample& sample : rounds[0]) EXPECT_GT(sample.time_us, 0.5);
}

}  // namespace
}  // namespace hgemm::testing
