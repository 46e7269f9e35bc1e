// Studies: what is recorded is read back, found again, and merged once.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "tests/store/support.h"

namespace hgemm::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Study micro(const std::string& label, double cycles = 32, const std::string& cubin = "c1") {
  Study study;
  study.kind = StudyKind::kMicro;
  study.label = label;
  study.cubin_hash = cubin;
  study.micro = {{"cycles", "clk", cycles, cycles - 1, cycles + 2, 9}};
  return study;
}

Study probe(bool timeline = true) {
  Study study;
  study.kind = StudyKind::kProbe;
  study.label = kLabel + ".probe";
  study.shape = kShape;
  study.cubin_hash = "p1";
  study.message = "a remark";
  study.cycles = {{"consumer", "wait_full", "k_block", 1 << 20, 1e15 + 0.5},
                  {"producer", "issue", "k_block", 64, 6400}};
  if (timeline) {
    study.spans = {{131, 7, "producer", "issue", -1, 0.5, 10},
                   {0, 0, "consumer", "mma_wait", 3, 10.25, 20},
                   {0, 0, "consumer", "mma_wait", 4, 20, 30}};
  }
  return study;
}

Study ladder() {
  Study study;
  study.kind = StudyKind::kLadder;
  study.label = "naive";
  study.shape = Shape{.m = 64, .n = 128, .k = 256, .dtype = Dtype::kFp16, .tag = ""};
  study.cubin_hash = "l1";
  study.verdict = {.correct = true, .error = 1e-3, .tolerance = 1e-2, .message = ""};
  for (int round : {0, 1}) {
    Sample step = sample(round, 500.0 + round);
    step.pace = Pace::kRested;
    step.power_w = 300.5;
    step.temperature_c = 40;
    step.clock_events = clock_event::kIdle;
    study.samples.push_back(step);
    study.cublas_samples.push_back(sample(round, 50.0 + round));
  }
  return study;
}

Study chain() {
  Study study;
  study.kind = StudyKind::kChain;
  study.label = "chain.m1.64x128+128x64.x8.bf16";
  study.cubin_hash = "all";
  study.verdict = {.correct = true, .error = 1e-3, .tolerance = 1e-2, .message = ""};
  for (int i = 0; i < 3; ++i) {  // one shape comes twice
    study.links.push_back(
        {Shape{.m = 1, .n = 64 + 64 * (i % 2), .k = 128 - 64 * (i % 2), .tag = ""}, "plain",
         kLabel});
  }
  for (int round : {0, 1}) {
    study.samples.push_back(sample(round, 60.0 + round));
    study.pdl_samples.push_back(sample(round, 50.0 + round));
    study.cublas_samples.push_back(sample(round, 70.0 + round));
  }
  return study;
}

Study counters() {
  Study study;
  study.kind = StudyKind::kCounters;
  study.label = "cublas";
  study.shape = kShape;
  study.counters = {{"l2_hit_rate", "%", 87.5, "lts__t_sector_hit_rate.pct"}};
  return study;
}

std::string text_of(const Sample& s) {
  return fmt::format(" {} {} {} {} {} {} {} {}", s.round, to_string(s.pace), s.launches, s.time_us,
                     s.sm_mhz, s.power_w.value_or(-1), s.temperature_c.value_or(-1),
                     s.clock_events.value_or(99));
}

/// Everything that a study says.
std::string text_of(const Study& s) {
  std::string text = fmt::format("{} {} at {} {} cubin '{}' {} '{}' verdict {} {} {} '{}'",
                                 to_string(s.kind), s.label, s.shape ? to_string(*s.shape) : "-",
                                 s.shape ? to_string(s.shape->dtype) : "-", s.cubin_hash,
                                 to_string(s.status), s.message, s.verdict.correct, s.verdict.error,
                                 s.verdict.tolerance, s.verdict.message);
  for (const auto& f : s.micro) {
    text += fmt::format("\nmicro {} {} {} {} {} {}", f.metric, f.unit, f.value, f.low, f.high,
                        f.samples);
  }
  for (const auto& f : s.cycles) {
    text += fmt::format("\ncycle {} {} {} {} {}", f.role, f.phase, f.unit, f.count, f.cycles);
  }
  for (const auto& f : s.spans) {
    text += fmt::format("\nspan {} {} {} {} {} {} {}", f.sm, f.cta, f.role, f.phase, f.tile,
                        f.start_ns, f.end_ns);
  }
  for (const auto& f : s.counters) {
    text += fmt::format("\ncounter {} {} {} {}", f.metric, f.unit, f.value, f.source);
  }
  for (const auto& link : s.links) {
    text += fmt::format("\nlink {} {} {}", to_string(link.shape), link.pdl_off, link.pdl_on);
  }
  for (const auto& sample : s.samples) text += "\nown" + text_of(sample);
  for (const auto& sample : s.pdl_samples) text += "\npdl" + text_of(sample);
  for (const auto& sample : s.cublas_samples) text += "\ncublas" + text_of(sample);
  return text;
}

class StudyTest : public StoreTest {
 protected:
  static std::int64_t run(Store& store, const Environment& where = environment()) {
    return store.begin_run(where, "hgemm-tune micro");
  }
  static const std::vector<StudyKind> kKinds;

  std::multiset<std::string> content(const std::string& name) const {
    std::multiset<std::string> content;
    const Store store = open(name, Store::Mode::kReadOnly);
    for (const StudyKind kind : kKinds) {
      for (const RecordedStudy& r : store.studies(kind)) {
        content.insert(fmt::format("{} {} {} {} {}", r.uid, r.environment.driver, r.started_utc,
                                   r.command_line, text_of(r.study)));
      }
    }
    return content;
  }
};
const std::vector<StudyKind> StudyTest::kKinds = {StudyKind::kMicro, StudyKind::kProbe,
                                                  StudyKind::kCounters, StudyKind::kLadder,
                                                  StudyKind::kChain};

TEST_F(StudyTest, WhatIsRecordedIsReadBack) {
  const std::vector<Study> all = {micro("wgmma"), probe(), counters(), ladder(), chain()};
  {
    Store store = open();
    const auto id = run(store);
    for (const Study& study : all) store.record_study(id, study);
  }
  const Store store = open(Store::Mode::kReadOnly);
  for (const Study& study : all) {
    const auto read = store.studies(study.kind);
    ASSERT_THAT(read, SizeIs(1)) << to_string(study.kind);
    EXPECT_EQ(text_of(read[0].study), text_of(study));
    EXPECT_EQ(read[0].environment, environment());
    EXPECT_EQ(read[0].command_line, "hgemm-tune micro");
    EXPECT_THAT(read[0].uid, SizeIs(32));
    EXPECT_THAT(read[0].started_utc, SizeIs(20));
  }
  EXPECT_THAT(store.races(), IsEmpty());
}

TEST_F(StudyTest, AWrongResultKeepsItsVerdictAndANaN) {
  Study wrong = ladder();
  wrong.status = Status::kWrongResult;
  wrong.verdict = {.correct = false, .error = NAN, .tolerance = 0.01, .message = "a NaN at 3, 4"};
  wrong.samples.clear();
  wrong.cublas_samples.clear();
  Store store = open();
  store.record_study(run(store), wrong);
  const Study read = store.studies(StudyKind::kLadder).at(0).study;
  EXPECT_EQ(read.status, Status::kWrongResult);
  EXPECT_TRUE(std::isnan(read.verdict.error));
  EXPECT_EQ(read.verdict.message, "a NaN at 3, 4");
  EXPECT_EQ(read.verdict.tolerance, 0.01);
}

TEST_F(StudyTest, WithoutAVerdictThereIsNone) {
  {
    Store store = open();
    store.record_study(run(store), micro("wgmma"));
  }
  SQLite::Database db(db_.string());
  EXPECT_EQ(db.execAndGet("SELECT COUNT(*) FROM study WHERE correct IS NULL AND error IS NULL AND "
                          "tolerance IS NULL AND verdict_message IS NULL AND shape_id IS NULL")
                .getInt(),
            1);
}

TEST_F(StudyTest, OfEachSubjectAndEnvironmentTheNewestIsRead) {
  Store store = open();
  const auto here = run(store);
  const auto there = run(store, environment("590.2"));
  store.record_study(here, micro("a", 1));
  store.record_study(here, micro("b", 2));
  store.record_study(there, micro("a", 3));
  store.record_study(here, micro("a", 4, "c2"));
  Environment same = environment();
  same.git_revision = "later";
  store.record_study(run(store, same), micro("b", 5));

  std::vector<std::string> read;
  for (const auto& r : store.studies(StudyKind::kMicro)) {
    read.push_back(
        fmt::format("{} {} {}", r.study.label, r.environment.driver, r.study.micro.at(0).value));
  }
  EXPECT_THAT(read, ElementsAre("a 590.2 3", "a 580.1 4", "b 580.1 5"));
}

TEST_F(StudyTest, IsFoundAgainByKindLabelShapeCubinAndConditions) {
  Store store = open();
  store.record_study(run(store), probe());
  store.record_study(run(store), micro("wgmma"));
  const auto has = [&](const Study& study) { return store.has_study(environment(), study); };
  EXPECT_TRUE(has(probe()));
  EXPECT_TRUE(has(micro("wgmma")));
  EXPECT_FALSE(has(micro("other")));
  EXPECT_FALSE(has(micro("wgmma", 32, "c2"))) << "another kernel";
  EXPECT_FALSE(store.has_study(environment("590.2"), probe())) << "another driver";
  Study other = probe();
  other.kind = StudyKind::kCounters;
  EXPECT_FALSE(has(other));
  other = probe();
  other.shape->k *= 2;
  EXPECT_FALSE(has(other));
  other = probe();
  other.shape.reset();
  EXPECT_FALSE(has(other));
  Study retagged = probe();
  retagged.shape->tag = "other";
  EXPECT_TRUE(has(retagged)) << "the same problem";
}

TEST_F(StudyTest, WhatWasMeasuredWithAnotherKernelSinceIsNotThere) {
  Store store = open();
  store.record_study(run(store), micro("wgmma", 1, "c1"));
  store.record_study(run(store), micro("wgmma", 2, "c2"));
  EXPECT_FALSE(store.has_study(environment(), micro("wgmma", 1, "c1")))
      << "studies() would answer with c2";
  EXPECT_TRUE(store.has_study(environment(), micro("wgmma", 2, "c2")));
}

TEST_F(StudyTest, ATimelineIsAskedForApart) {
  Store store = open();
  store.record_study(run(store), probe(false));
  EXPECT_TRUE(store.has_study(environment(), probe(), false));
  EXPECT_FALSE(store.has_study(environment(), probe(), true));
  store.record_study(run(store), probe(true));
  EXPECT_TRUE(store.has_study(environment(), probe(), true));
  Study failed = probe(false);
  failed.status = Status::kCrashed;
  store.record_study(run(store), failed);
  EXPECT_TRUE(store.has_study(environment(), probe(), true)) << "it would fail again";
}

TEST_F(StudyTest, WhatDidNotCompileIsThereWithTheSameReasonOnly) {
  Study failed = micro("wgmma", 1, "");
  failed.micro.clear();
  failed.status = Status::kCompileFailed;
  failed.message = "spills";
  Store store = open();
  store.record_study(run(store), failed);
  EXPECT_TRUE(store.has_study(environment(), failed));
  failed.message = "error: ...";
  EXPECT_FALSE(store.has_study(environment(), failed));
}

TEST_F(StudyTest, IsThereWhollyOrNotAtAll) {
  const auto child = [&] {
    Store store = open();
    const auto id = run(store);
    store.record_study(id, micro("first"));
    Study twice = micro("second");
    twice.micro.push_back(twice.micro.front());  // the same metric again
    try {
      store.record_study(id, twice);
    } catch (const Error&) {
      raise(SIGKILL);
    }
  };
  EXPECT_EXIT(child(), ::testing::KilledBySignal(SIGKILL), "");
  const auto left = open(Store::Mode::kReadOnly).studies(StudyKind::kMicro);
  ASSERT_THAT(left, SizeIs(1));
  EXPECT_EQ(left[0].study.label, "first");
}

TEST_F(StudyTest, DatabasesAreMergedByStudyOnce) {
  for (const std::string name : {"a.db", "b.db"}) {
    Store store = open(name);
    const auto id = run(store, environment(name == "a.db" ? "580.1" : "590.2"));
    for (const Study& study : {micro("wgmma"), probe(), counters(), ladder()}) {
      store.record_study(id, study);
    }
  }
  auto expected = content("a.db");
  expected.merge(content("b.db"));
  ASSERT_THAT(expected, SizeIs(8));
  const auto add = [&](const std::string& to, const std::string& from) {
    const auto added = open(to).add_all(open(from, Store::Mode::kReadOnly));
    EXPECT_EQ(added.races + added.trials + added.samples, 0);
    return added.studies;
  };
  EXPECT_EQ(add("all.db", "a.db"), 4);
  EXPECT_EQ(add("all.db", "b.db"), 4);
  EXPECT_EQ(add("all.db", "a.db"), 0);
  EXPECT_EQ(content("all.db"), expected);
  EXPECT_EQ(add("a.db", "all.db"), 4);
  EXPECT_EQ(content("a.db"), expected);
  Store self = open("a.db");
  EXPECT_EQ(self.add_all(self).studies, 0);
}

}  // namespace
}  // namespace hgemm::test
