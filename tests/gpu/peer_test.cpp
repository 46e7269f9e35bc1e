// Peers in a whole tune: a good one is raced, each bad one ends as the right status of one trial.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "results/best.h"
#include "store/store.h"
#include "support.h"
#include "tests/tune/silent_listener.h"
#include "tune/tune.h"
#include "worker/remote.h"

namespace hgemm::testing {
namespace {

using ::testing::HasSubstr;

const GemmProblem kShape{.m = 256, .n = 512, .k = 1024, .tag = ""};

/// The peer of tests/gpu/peers/peer.cu with options, or of another library.
Peer peer(const std::string& name, const std::string& options,
          const std::string& library = "libnaive_peer.so") {
  const std::filesystem::path file = build_dir() / "tests" / library;
  return {.name = name,
          .file = file,
          .hash = content_hash(read_file(file, kLongestPeerBytes)),
          .options = options};
}

class PeerTest : public GpuTest {
 protected:
  static TiledConfig config(int bm, int bn, const GemmProblem& problem) {
    TiledConfig one{.bm = bm, .bn = bn, .bk = 64, .stages = 6, .consumers = bm / 64};
    if (!problem.has_8_bit_operands()) return one;
    one.bk = one.promote = kScaleBlock;  // as deep in bytes, and promoted in each stage
    one.mma_depth = 0;
    one.stages = 4;  // scales take room, too
    return one;
  }
  std::map<std::string, Trial> race_with(const std::vector<Peer>& peers,
                                         const GemmProblem& problem = kShape) {
    TunePlan plan;
    plan.problems = {problem};
    plan.configs = {config(128, 128, problem), config(64, 64, problem)};
    plan.policy.seed = 3;
    plan.peers = peers;
    plan.command_line = "peer_test";
    plan.compile = compile_options();
    RemoteMeasurer measurer({program(), "worker"}, {}, {}, peers);
    SilentListener listener;
    Store store = Store::open((folder_.path() / "peers.db").string(), Store::Mode::kReadWrite);
    tune(plan, measurer, store, nvrtc_compiler(), listener, nullptr);
    std::map<std::string, Trial> trials;
    for (const RecordedRace& race : store.races()) {
      if (!race.race.problem.same_problem(problem)) continue;
      for (const Trial& trial : race.race.trials) trials[trial.label] = trial;
    }
    races_ = store.races();
    return trials;
  }

  test::TemporaryFolder folder_;
  std::vector<RecordedRace> races_;
};

TEST_F(PeerTest, AGoodPeerIsRacedBesideTheOthers) {
  const auto trials = race_with({peer("naive", "good")});
  const Trial& trial = trials.at("peer.naive.0");
  EXPECT_EQ(trial.status, Status::kOk) << trial.message;
  EXPECT_EQ(trial.stage, Stage::kFinal);
  EXPECT_EQ(trial.message, "naive 1.0, naive, variant 0");
  EXPECT_EQ(trial.kernel_id, peer("naive", "good").identity());
  const auto rows = best_rows(races_);
  ASSERT_EQ(rows.size(), 1u);
  ASSERT_EQ(rows[0].peers.size(), 1u);
  EXPECT_GT(rows[0].peers[0].winner->value, 2) << "one thread for each element is slow";
  EXPECT_LT(rows[0].peers[0].cublas->value, 0.5);
}

TEST_F(PeerTest, ABadPeerCostsOneTrial) {
  struct Case {
    const char* options;
    Status status;
    const char* message;
  };
  const std::vector<Case> cases = {
      {"crashes", Status::kCrashed, "signal 11"},
      {"exits", Status::kCrashed, ""},
      {"waits", Status::kTimedOut, "the first launch"},
      {"runs-for-ever", Status::kTimedOut, "the first launch"},
      {"illegal-address", Status::kCrashed, ""},
      {"wrong", Status::kWrongResult, "naive"},
      {"nan", Status::kWrongResult, "NaN"},
      {"fails", Status::kLaunchFailed, "it does not like?this problem"},
      {"writes-after-d", Status::kWrongResult, "outside"},
      {"writes-before-d", Status::kWrongResult, "outside"},
      {"writes-inputs", Status::kWrongResult, "changed its inputs"},
      {"synchronises", Status::kLaunchFailed, ""},
      {"elsewhere", Status::kWrongResult, "replayed"},
      {"asks-for-too-much", Status::kLaunchFailed, "memory"},
  };
  std::vector<Peer> peers;
  for (const Case& one : cases) peers.push_back(peer(one.options, one.options));
  const auto trials = race_with(peers);
  for (const Case& one : cases) {
    const Trial& good = trials.at(fmt::format("peer.{}.0", one.options));
    const Trial& bad = trials.at(fmt::format("peer.{}.1", one.options));
    fmt::print("{}: {}: {}\n", one.options, to_string(bad.status), bad.message.substr(0, 160));
    EXPECT_EQ(bad.status, one.status) << one.options << ": " << bad.message;
    EXPECT_THAT(bad.message, HasSubstr(one.message)) << one.options;
    EXPECT_TRUE(bad.samples.empty()) << one.options;
    EXPECT_EQ(good.status, Status::kOk) << one.options << ": " << good.message;
    EXPECT_FALSE(good.samples.empty()) << one.options;
  }
  int configs = 0;
  for (const auto& [label, trial] : trials) {
    if (is_baseline(label)) continue;
    EXPECT_EQ(trial.status, Status::kOk) << label << ": " << trial.message;
    ++configs;
  }
  EXPECT_EQ(configs, 2);
}

TEST_F(PeerTest, APeerThatCannotBeOpenedLeavesOneTrialWithTheReason) {
  const auto trials = race_with({peer("aborts", "crashes-on-open"),
                                 peer("refuses", "refuses-to-open"), peer("none", "none")});
  EXPECT_EQ(trials.at("peer.aborts").status, Status::kCrashed);
  EXPECT_EQ(trials.at("peer.refuses").status, Status::kLaunchFailed);
  EXPECT_THAT(trials.at("peer.refuses").message, HasSubstr("the options say that it must fail"));
  EXPECT_EQ(trials.at("peer.none").status, Status::kInvalidConfig);
}

TEST_F(PeerTest, APeerOfWhichAllVariantsCrashIsLeftOut) {
  const auto trials = race_with({peer("bad", "all-crash"), peer("good", "good")});
  EXPECT_EQ(trials.at("peer.bad.0").status, Status::kCrashed);
  EXPECT_EQ(trials.at("peer.bad.2").status, Status::kCrashed);
  EXPECT_FALSE(trials.contains("peer.bad.3"));
  EXPECT_THAT(trials.at("peer.bad").message, HasSubstr("the others are not tried"));
  EXPECT_EQ(trials.at("peer.good.0").status, Status::kOk);
}

TEST_F(PeerTest, APeerComputes8BitProblemsWithEveryKindOfScales) {
  for (const char* key :
       {"256x512x1024.e4m3", "256x512x1024.e4m3.scaling-tensor", "256x512x1024.e4m3.scaling-rows",
        "256x512x1024.e4m3.scaling-blocks", "256x512x1024.e4m3.scaling-row_blocks",
        // The last blocks are not full, and the scales of B's have padding, which is NaN.
        "256x520x720.e4m3.scaling-blocks", "256x520x720.e4m3.scaling-row_blocks",
        // cuBLASLt is given scales with padding, and rows up to a multiple of 4.
        "255x520x720.e4m3.scaling-packed_blocks"}) {
    const auto trials =
        race_with({peer("example", "", "libexample_peer.so"), peer("of_16_bits", "anything")},
                  parse_problem(key));
    const Trial& trial = trials.at("peer.example.0");
    EXPECT_EQ(trial.status, Status::kOk) << key << ": " << trial.message;
    EXPECT_FALSE(trial.samples.empty()) << key;
    EXPECT_EQ(trials.at("peer.of_16_bits").status, Status::kInvalidConfig) << key;
    EXPECT_THAT(trials.at("peer.of_16_bits").message, HasSubstr("no 8-bit operands")) << key;
    int configs = 0;
    for (const auto& [label, other] : trials) {
      if (!is_baseline(label) && other.status == Status::kOk) ++configs;
    }
    EXPECT_EQ(configs, 2) << key;
  }
}

TEST_F(PeerTest, OddLeadingDimensionsAreGuardedToo) {
  const auto trials =
      race_with({peer("naive", "good")},
                {.m = 100, .n = 96, .k = 200, .lda = 208, .ldb = 216, .ldd = 104, .tag = ""});
  EXPECT_EQ(trials.at("peer.naive.0").status, Status::kOk) << trials.at("peer.naive.0").message;
}

}  // namespace
}  // namespace hgemm::testing
