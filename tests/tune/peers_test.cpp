// Peers in a tune: what is raced against them, and what the bad ones cost.
#include "results/best.h"
#include "support.h"

namespace hgemm {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

const GemmProblem kShape{.m = 256, .n = 512, .k = 1024, .tag = ""};

Peer peer(const std::string& name, const std::string& hash = "aa",
          const std::string& options = "") {
  return {.name = name, .file = "/" + name + ".so", .hash = hash, .options = options};
}

class PeersTest : public TuneTest {
 protected:
  /// Tunes six configs, of which 2 is the fastest and 4 is near it, against these peers, each of
  /// two variants.
  std::int64_t run_with(const std::vector<Peer>& peers) {
    TunePlan plan = this->plan({kShape}, configs(6));
    plan.peers = peers;
    measurer_.peers.clear();
    for (const Peer& one : peers) {
      for (const int variant : {0, 1}) measurer_.peers.push_back(one.label(variant));
    }
    measurer_.model_us[name(2)] = 80;
    measurer_.model_us[name(4)] = 81;
    measurer_.noise = 0;
    return run(plan, measurer_);
  }
  std::map<std::string, Trial> trials_of(const RecordedRace& race) const {
    std::map<std::string, Trial> trials;
    for (const Trial& trial : race.race.trials) trials[trial.label] = trial;
    return trials;
  }

  FakeMeasurer measurer_;
};

TEST_F(PeersTest, EachIsRacedToTheEndAndKnownByItsFile) {
  measurer_.model_us["peer.b.1"] = 70;
  EXPECT_EQ(run_with({peer("a"), peer("b", "bb", "fast")}), 6) << "peers are no configs";
  ASSERT_THAT(open().races(), SizeIs(1));
  const auto trials = trials_of(open().races()[0]);
  EXPECT_EQ(trials.at("peer.a.0").stage, Stage::kFinal);
  EXPECT_EQ(trials.at("peer.a.0").kernel_id, "peer:aa");
  EXPECT_NE(trials.at("peer.b.0").kernel_id, "peer:bb") << "the options count";
  const BestRow row = best_rows(open().races()).at(0);
  EXPECT_EQ(row.label, name(2)) << "a faster peer wins no row";
  ASSERT_THAT(row.peers, SizeIs(2));
  EXPECT_EQ(row.peers[1].label, "peer.b.1");
  EXPECT_NEAR(row.peers[1].winner->value, 70.0 / 80, 1e-9);
}

TEST_F(PeersTest, ANewPeerMeetsTheWinnerAndThoseNearItOnce) {
  EXPECT_EQ(run_with({}), 6);
  EXPECT_EQ(run_with({peer("a")}), 2);
  ASSERT_THAT(open().races(), SizeIs(2));
  const auto trials = trials_of(open().races()[1]);
  EXPECT_TRUE(trials.contains(name(2)) && trials.contains(name(4)));
  EXPECT_FALSE(trials.contains(name(1)));
  EXPECT_TRUE(trials.contains("peer.a.1"));
  EXPECT_EQ(run_with({peer("a")}), 0) << "they have met";
  EXPECT_EQ(run_with({}), 0);
}

TEST_F(PeersTest, OnlyConfigsOfThePlanAreRacedAgain) {
  run_with({});
  TunePlan plan = this->plan({kShape}, configs(6));
  std::erase_if(plan.configs, [](const auto& config) { return label(config) == name(2); });
  plan.peers = {peer("a")};
  measurer_.peers = {"peer.a.0"};
  EXPECT_GE(run(plan, measurer_), 1);
  const auto trials = trials_of(open().races().at(1));
  EXPECT_TRUE(trials.contains(name(4))) << "the best of the plan's";
  EXPECT_FALSE(trials.contains(name(2))) << "the best of all";
}

TEST_F(PeersTest, AChangedFileIsAnotherPeer) {
  run_with({peer("a", "aa")});
  EXPECT_EQ(run_with({peer("a", "ab")}), 2);
  EXPECT_EQ(run_with({peer("a", "ab", "fast")}), 2);
  EXPECT_EQ(run_with({peer("a", "ab", "fast")}), 0);
}

TEST_F(PeersTest, AVariantThatTakesTheWorkerDownCostsItself) {
  measurer_.in_open["peer.a.0"] = {Status::kCrashed};
  measurer_.in_open["peer.b.1"] = {Status::kTimedOut};
  EXPECT_EQ(run_with({peer("a"), peer("b")}), 6);
  const auto trials = trials_of(open().races().at(0));
  EXPECT_EQ(trials.at("peer.a.0").status, Status::kCrashed);
  EXPECT_EQ(trials.at("peer.a.0").kernel_id, "peer:aa");
  EXPECT_EQ(trials.at("peer.a.1").status, Status::kOk);
  EXPECT_EQ(trials.at("peer.b.0").status, Status::kOk);
  EXPECT_EQ(trials.at("peer.b.1").status, Status::kTimedOut);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(trials.at(name(i)).status, Status::kOk);
  EXPECT_EQ(run_with({peer("a"), peer("b")}), 0) << "a failure is an end, too";
}

TEST_F(PeersTest, AVariantThatFailsInTheRaceCostsItself) {
  measurer_.in_round["peer.a.0"] = {Status::kCrashed};
  EXPECT_EQ(run_with({peer("a")}), 6);
  const auto trials = trials_of(open().races().at(0));
  EXPECT_EQ(trials.at("peer.a.0").status, Status::kCrashed);
  EXPECT_EQ(trials.at("peer.a.1").stage, Stage::kFinal);
}

TEST_F(PeersTest, APeerIsLeftOutAfterThreeOfItsVariantsTookTheWorkerDown) {
  std::vector<std::string> labels;
  for (int i = 0; i < 12; ++i) {
    labels.push_back(peer("a").label(i));
    measurer_.in_open[labels.back()] = {Status::kCrashed};
  }
  TunePlan plan = this->plan({kShape}, configs(3));
  plan.peers = {peer("a")};
  measurer_.peers = labels;
  EXPECT_EQ(run(plan, measurer_), 3);
  const auto trials = trials_of(open().races().at(0));
  EXPECT_EQ(trials.at("peer.a.2").status, Status::kCrashed);
  EXPECT_FALSE(trials.contains("peer.a.3"));
  EXPECT_THAT(trials.at("peer.a").message, HasSubstr("3 of its variants took the worker down"));
  EXPECT_EQ(trials.at("peer.a").kernel_id, "peer:aa");
}

TEST_F(PeersTest, EnergyIsMeasuredOfTheFastestVariantOnly) {
  TunePlan plan = this->plan({kShape}, configs(3));
  plan.peers = {peer("a")};
  plan.weighed = Weighed::kFinalists;
  measurer_.peers = {"peer.a.0", "peer.a.1"};
  measurer_.model_us["peer.a.1"] = 90;
  run(plan, measurer_);
  EXPECT_THAT(measurer_.weighed, Contains("peer.a.1"));
  EXPECT_THAT(measurer_.weighed, Not(Contains("peer.a.0")));
}

}  // namespace
}  // namespace hgemm
