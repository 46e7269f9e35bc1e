// Studies: what is recorded is read back, found again, and merged once.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "studies/chain/chain.h"
#include "studies/counters/counter_set.h"
#include "studies/ladder/ladder.h"
#include "studies/micro/points.h"
#include "studies/probe/cycles.h"
#include "tests/store/support.h"

namespace hgemm::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

Study micro(const std::string& label, double cycles = 32, const std::string& kernel_id = "c1") {
  Study study;
  study.kind = kMicroStudy;
  study.label = label;
  study.kernel_id = kernel_id;
  study.figures = {{"", "cycles", "clk", cycles, cycles - 1, cycles + 2, 9}};
  return study;
}

Study probe(bool timeline = true) {
  Study study;
  study.kind = kProbeStudy;
  study.label = kLabel + ".probe1";
  study.problem = kProblem;
  study.kernel_id = "p1";
  study.message = "a remark";
  study.figures = recorded_cycles({{"consumer", "wait_full", "k_block", 1 << 20, 1e15 + 0.5},
                                   {"producer", "issue", "k_block", 64, 6400}});
  if (timeline) {
    study.spans = {{131, 7, "producer", "issue", -1, 0.5, 10},
                   {0, 0, "consumer", "mma_wait", 3, 10.25, 20},
                   {0, 0, "consumer", "mma_wait", 4, 20, 30}};
  }
  return study;
}

Study ladder() {
  Study study;
  study.kind = kLadderStudy;
  study.label = "naive";
  study.problem = GemmProblem{.m = 64, .n = 128, .k = 256, .tag = ""};
  study.problem->set_types(DataType::kFp16);
  study.kernel_id = "l1";
  study.verdict = {.correct = true, .error = 1e-3, .tolerance = 1e-2, .message = ""};
  for (int round : {0, 1}) {
    Sample step = sample(round, 500.0 + round);
    step.pace = Pace::kRested;
    step.power_w = 300.5;
    step.temperature_c = 40;
    step.clock_events = clock_event::kIdle;
    study.samples(kStepSeries).push_back(step);
    study.samples(kCublasLabel).push_back(sample(round, 50.0 + round));
  }
  return study;
}

Study chain() {
  Study study;
  study.kind = kChainStudy;
  study.label = "chain.m1.64x128+128x64.x8.bf16";
  study.kernel_id = "all";
  study.verdict = {.correct = true, .error = 1e-3, .tolerance = 1e-2, .message = ""};
  std::vector<ChainLink> links;
  for (int i = 0; i < 3; ++i) {  // one problem comes twice
    links.push_back(
        {GemmProblem{.m = 1, .n = 64 + 64 * (i % 2), .k = 128 - 64 * (i % 2), .tag = ""}, "plain",
         kLabel});
  }
  study.parts = parts_of(links);
  for (int round : {0, 1}) {
    study.samples(kPdlOff).push_back(sample(round, 60.0 + round));
    study.samples(kPdlOn).push_back(sample(round, 50.0 + round));
    study.samples(kCublasLabel).push_back(sample(round, 70.0 + round));
  }
  return study;
}

Study counters() {
  Study study;
  study.kind = kCountersStudy;
  study.label = "cublas";
  study.problem = kProblem;
  study.figures = {counter_figure("l2_hit_rate", "%", 87.5, "lts__t_sector_hit_rate.pct")};
  return study;
}

std::string text_of(const Sample& s) {
  return fmt::format(" {} {} {} {} {} {} {} {}", s.round, to_string(s.pace), s.launches, s.time_us,
                     s.sm_mhz, s.power_w.value_or(-1), s.temperature_c.value_or(-1),
                     s.clock_events.value_or(99));
}

/// Everything that a study says.
std::string text_of(const Study& s) {
  std::string text = fmt::format("{} {} at {} kernel '{}' {} '{}' verdict {} {} {} '{}'", s.kind,
                                 s.label, s.problem ? to_string(*s.problem) : "-", s.kernel_id,
                                 to_string(s.status), s.message, s.verdict.correct, s.verdict.error,
                                 s.verdict.tolerance, s.verdict.message);
  for (const auto& f : s.figures) {
    text += fmt::format("\nfigure {} {} {} {} {} {} {}", f.point, f.metric, f.unit, f.value, f.low,
                        f.high, f.samples);
  }
  for (const auto& f : s.spans) {
    text += fmt::format("\nspan {} {} {} {} {} {} {}", f.sm, f.cta, f.role, f.phase, f.tile,
                        f.start_ns, f.end_ns);
  }
  for (const auto& part : s.parts) {
    text += fmt::format("\npart {} {} {} {}", part.position, part.variant, to_string(part.problem),
                        part.label);
  }
  std::set<std::string> samples;  // which series comes first means nothing
  for (const auto& series : s.series) {
    for (const auto& sample : series.samples) {
      samples.insert("\n" + series.name + text_of(sample));
    }
  }
  for (const std::string& sample : samples) text += sample;
  return text;
}

class StudyTest : public StoreTest {
 protected:
  static std::int64_t run(Store& store, const Machine& where = machine()) {
    return store.begin_run(where, "hgemm-tune micro");
  }
  static const std::vector<std::string_view> kKinds;

  std::multiset<std::string> content(const std::string& name) const {
    std::multiset<std::string> content;
    const Store store = open(name, Store::Mode::kReadOnly);
    for (const std::string_view kind : kKinds) {
      for (const RecordedStudy& r : store.studies(kind)) {
        content.insert(fmt::format("{} {} {} {} {} {}", r.uid, r.environment.driver, r.run.host,
                                   r.started_utc, r.command_line, text_of(r.study)));
      }
    }
    return content;
  }
};
const std::vector<std::string_view> StudyTest::kKinds = {kMicroStudy, kProbeStudy, kCountersStudy,
                                                         kLadderStudy, kChainStudy};

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
    ASSERT_THAT(read, SizeIs(1)) << study.kind;
    EXPECT_EQ(text_of(read[0].study), text_of(study));
    EXPECT_EQ(read[0].environment, environment());
    EXPECT_EQ(read[0].run, machine().run);
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
  wrong.series.clear();
  Store store = open();
  store.record_study(run(store), wrong);
  const Study read = store.studies(kLadderStudy).at(0).study;
  EXPECT_EQ(read.status, Status::kWrongResult);
  EXPECT_TRUE(std::isnan(read.verdict.error));
  EXPECT_EQ(read.verdict.message, "a NaN at 3, 4");
  EXPECT_EQ(read.verdict.tolerance, 0.01);
}

TEST_F(StudyTest, WhatCouldNotBeReadBackIsNotRecorded) {
  Store store = open();
  const auto id = run(store);
  const auto expect_refused = [&](const std::string& column, const Study& odd) {
    EXPECT_THAT([&] { store.record_study(id, odd); },
                ThrowsMessage<Error>(HasSubstr("cannot be recorded as " + column)));
    EXPECT_THAT(store.studies(odd.kind), IsEmpty());
  };
  const std::string odd = "a\nb";
  Study study = chain();
  study.kind = odd;
  expect_refused("study.kind", study);
  study = chain();
  study.label = odd;
  expect_refused("study.label", study);
  study = chain();
  study.kernel_id = odd;
  expect_refused("study.kernel", study);
  study = chain();
  study.parts[1].variant = odd;
  expect_refused("part.variant", study);
  study = chain();
  study.parts[1].label = odd;
  expect_refused("part.label", study);
  study = chain();
  study.series[0].name = odd;
  expect_refused("study_sample.series", study);
  study = probe();
  study.figures[1].point = odd;
  expect_refused("figure.point", study);
  study = probe();
  study.figures[1].metric = odd;
  expect_refused("figure.metric", study);
  study = probe();
  study.figures[1].unit = odd;
  expect_refused("figure.unit", study);
  study = probe();
  study.spans[1].role = odd;
  expect_refused("span.role", study);
  study = probe();
  study.spans[1].phase = odd;
  expect_refused("span.phase", study);
}

TEST_F(StudyTest, WithoutAVerdictThereIsNone) {
  {
    Store store = open();
    store.record_study(run(store), micro("wgmma"));
  }
  SQLite::Database db(db_.string());
  EXPECT_EQ(db.execAndGet("SELECT COUNT(*) FROM study WHERE correct IS NULL AND error IS NULL AND "
                          "tolerance IS NULL AND verdict_message IS NULL AND problem_id IS NULL")
                .getInt(),
            1);
}

TEST_F(StudyTest, OfEachSubjectAndSessionTheNewestIsRead) {
  Store store = open();
  const auto here = run(store);
  const auto there = run(store, machine("590.2"));
  store.record_study(here, micro("a", 1));
  store.record_study(here, micro("b", 2));
  store.record_study(there, micro("a", 3));
  store.record_study(here, micro("a", 4, "c2"));
  Machine same = machine();
  same.run.git_revision = "later";
  store.record_study(run(store, same), micro("b", 5));
  Machine other_card = machine();
  other_card.run.gpu_uuid = "GPU-2";
  store.record_study(run(store, other_card), micro("b", 6));

  std::vector<std::string> read;
  for (const auto& r : store.studies(kMicroStudy)) {
    read.push_back(
        fmt::format("{} {} {}", r.study.label, r.environment.driver, r.study.figures.at(0).value));
  }
  EXPECT_THAT(read, ElementsAre("a 590.2 3", "a 580.1 4", "b 580.1 5", "b 580.1 6"));
}

TEST_F(StudyTest, IsFoundAgainByKindLabelProblemKernelAndConditions) {
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
  other.kind = kCountersStudy;
  EXPECT_FALSE(has(other));
  other = probe();
  other.problem->k *= 2;
  EXPECT_FALSE(has(other));
  other = probe();
  other.problem.reset();
  EXPECT_FALSE(has(other));
  Study retagged = probe();
  retagged.problem->tag = "other";
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
  failed.figures.clear();
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
    twice.figures.push_back(twice.figures.front());  // the same metric again
    try {
      store.record_study(id, twice);
    } catch (const Error&) {
      raise(SIGKILL);
    }
  };
  EXPECT_EXIT(child(), ::testing::KilledBySignal(SIGKILL), "");
  const auto left = open(Store::Mode::kReadOnly).studies(kMicroStudy);
  ASSERT_THAT(left, SizeIs(1));
  EXPECT_EQ(left[0].study.label, "first");
}

TEST_F(StudyTest, DatabasesAreMergedByStudyOnce) {
  for (const std::string name : {"a.db", "b.db"}) {
    Store store = open(name);
    const auto id = run(store, machine(name == "a.db" ? "580.1" : "590.2"));
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
