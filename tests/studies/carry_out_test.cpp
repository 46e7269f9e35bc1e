// carry_out with a fake lab: what is measured, kept, done again or not, and what a lost worker
// costs.
#include "studies/carry_out.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "device/measurer.h"
#include "studies/chain/chain.h"
#include "studies/counters/counter_set.h"
#include "studies/micro/points.h"
#include "tests/support/temporary_folder.h"

namespace hgemm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

/// Measures what it is asked for, but for what is scripted.
class FakeLab : public Lab {
 public:
  std::map<std::string, Status> ends;  ///< by label: a study that fails
  std::map<std::string, Status> lost;  ///< by label: takes the worker down
  int lose_machine = 0;                ///< calls from now on
  Machine where;
  std::vector<std::string> ran;  ///< "label cubin[, cubin...]", in order

  FakeLab() {
    where.environment.gpu_name = "Fake H200";
    where.run.kernel_sources = "k0";
  }
  Machine machine() override {
    if (lose_machine > 0) {
      --lose_machine;
      throw MeasurerLost(Status::kCrashed, "the worker process ended during machine");
    }
    return where;
  }
  Study run(const StudyRequest& request, const Cubins& cubins) override {
    std::vector<std::string> paths;
    for (const auto& [label, cubin] : cubins) paths.push_back(cubin.path.string());
    ran.push_back(fmt::format("{} {}", request.label, fmt::join(paths, ", ")));
    if (const auto found = lost.find(request.label); found != lost.end()) {
      throw MeasurerLost(found->second, "lost in " + request.label);
    }
    Study study;  // says nothing of what it is about: that is the driver's to say
    if (const auto found = ends.find(request.label); found != ends.end()) {
      study.status = found->second;
      study.message = "scripted";
      return study;
    }
    study.figures = {{"", "cycles", "clk", 32, 31, 33, 5}};
    if (request.timeline) study.spans = {{0, 0, "cta", "all", -1, 0, 1}};
    return study;
  }
};

StudyRequest request(const std::string& label, const std::string& source) {
  StudyRequest request{.kind = std::string(kMicroStudy), .label = label, .problem = {}};
  if (!source.empty()) request.sources = {{label, source}};
  return request;
}
StudyRequest request(const std::string& label) { return request(label, "source of " + label); }

class StudiesTest : public testing::Test {
 protected:
  StudiesDone run(const std::vector<StudyRequest>& requests,
                  const std::function<bool()>& stop = {}) {
    const auto compile = [this](std::span<const StudySource> sources, const CompileOptions&,
                                const std::function<void(std::size_t, Build)>& done) {
      for (std::size_t i = sources.size(); i-- > 0;) {  // in any order
        compiled_.push_back(sources[i].label);
        Build build;
        if (sources[i].text.find("#error") != std::string::npos) {
          build.status = Status::kCompileFailed;
          build.message = "the compiler on " + sources[i].text;
        } else {
          build.facts.kernel_id = content_hash(sources[i].text);
          build.cubin.path = "cubin of " + sources[i].text;
        }
        done(i, build);
      }
    };
    compiled_.clear();
    lab_.ran.clear();
    Store store = Store::open(database_, Store::Mode::kReadWrite);
    return carry_out(requests, lab_, store, CompileOptions{}, "hgemm-tune micro", compile, stop);
  }
  std::vector<std::string> recorded() const {
    std::vector<std::string> lines;
    for (const auto& r : Store::open(database_, Store::Mode::kReadOnly).studies(kMicroStudy)) {
      lines.push_back(fmt::format("{} {}", r.study.label, to_string(r.study.status)));
    }
    return lines;
  }
  Study study(const std::string& label) const {
    for (const auto& r : Store::open(database_, Store::Mode::kReadOnly).studies(kMicroStudy)) {
      if (r.study.label == label) return r.study;
    }
    throw Error("no study of " + label);
  }
  std::size_t environments_with_runs() const {
    return Store::open(database_, Store::Mode::kReadOnly).environments().size();
  }

  test::TemporaryFolder temporary_;
  std::string database_ = temporary_.path() / "study.db";
  FakeLab lab_;
  std::vector<std::string> compiled_;
};

TEST_F(StudiesTest, MeasuresInTheOrderOfTheRequestsAndKeepsWhatTheyAreAbout) {
  StudyRequest shaped = request("b");
  shaped.kind = kCountersStudy;
  shaped.problem = GemmProblem{.m = 64, .n = 64, .k = 64, .tag = ""};
  const auto done = run({request("c"), shaped, request("a")});
  EXPECT_EQ(done.measured, 3);
  EXPECT_EQ(done.already, 0);
  EXPECT_EQ(done.failed, 0);
  EXPECT_FALSE(done.stopped);
  EXPECT_THAT(lab_.ran, ElementsAre("c cubin of source of c", "b cubin of source of b",
                                    "a cubin of source of a"));
  EXPECT_THAT(recorded(), ElementsAre("c ok", "a ok"));
  EXPECT_EQ(study("a").kernel_id, content_hash("source of a"));
  const Store store = Store::open(database_, Store::Mode::kReadOnly);
  const auto counters = store.studies(kCountersStudy);
  ASSERT_THAT(counters, SizeIs(1));
  EXPECT_EQ(counters[0].study.label, "b");
  EXPECT_TRUE(counters[0].study.problem->same_problem(*shaped.problem));
  EXPECT_EQ(counters[0].command_line, "hgemm-tune micro");
  EXPECT_EQ(counters[0].environment.gpu_name, "Fake H200");
}

TEST_F(StudiesTest, NothingIsDoneTwice) {
  run({request("a"), request("b")});
  const auto again = run({request("a"), request("b"), request("c"), request("c")});
  EXPECT_THAT(lab_.ran, ElementsAre("c cubin of source of c"));
  EXPECT_EQ(again.measured, 1);
  EXPECT_EQ(again.already, 3);
}

TEST_F(StudiesTest, AnotherKernelOrAnotherDriverIsMeasuredAnew) {
  run({request("a")});
  EXPECT_EQ(run({request("a", "another source")}).measured, 1);
  lab_.where.environment.driver = "590.2";
  EXPECT_EQ(run({request("a", "another source")}).measured, 1);
  EXPECT_EQ(run({request("a", "another source")}).measured, 0);
}

TEST_F(StudiesTest, AnotherTextOfTheSameCodeIsNot) {
  run({request("a")});
  lab_.where.run.kernel_sources = "k1";
  lab_.where.run.git_revision = "of a commit that edits comments";
  EXPECT_EQ(run({request("a")}).already, 1);
}

TEST_F(StudiesTest, ATimelineThatIsNotThereIsMeasured) {
  StudyRequest one = request("a");
  run({one});
  one.timeline = true;
  EXPECT_EQ(run({one}).measured, 1);
  EXPECT_EQ(run({one}).measured, 0);
  one.timeline = false;
  EXPECT_EQ(run({one}).measured, 0);
}

TEST_F(StudiesTest, ARunThatFindsAllDoneIsNoRun) {
  EXPECT_EQ(run({}).measured, 0);
  EXPECT_EQ(environments_with_runs(), 0u);
}

TEST_F(StudiesTest, EqualSourcesAreCompiledOnceAndNoSourceNotAtAll) {
  run({request("a", "shared"), request("b", "shared"), request("cublas", "")});
  EXPECT_THAT(compiled_, SizeIs(1));
  EXPECT_THAT(lab_.ran, ElementsAre("a cubin of shared", "b cubin of shared", "cublas "));
  EXPECT_EQ(study("cublas").kernel_id, "");
}

TEST_F(StudiesTest, WhatDoesNotCompileIsRecordedAsThatOnce) {
  const auto done = run({request("bad", "#error"), request("good")});
  EXPECT_EQ(done.measured, 2);
  EXPECT_EQ(done.failed, 1);
  EXPECT_THAT(lab_.ran, ElementsAre("good cubin of source of good"));
  EXPECT_THAT(recorded(), ElementsAre("bad compile_failed", "good ok"));
  EXPECT_EQ(study("bad").message, "the compiler on #error");
  EXPECT_EQ(run({request("bad", "#error")}).already, 1);
  EXPECT_EQ(run({request("bad", "repaired")}).failed, 0);
  EXPECT_EQ(study("bad").status, Status::kOk);
}

/// A chain of two links, whose kernels are of these sources.
StudyRequest chain(const std::string& first, const std::string& second) {
  StudyRequest request;
  request.kind = kChainStudy;
  request.label = "chain";
  request.parts =
      parts_of(std::vector<ChainLink>{{{.m = 1, .n = 64, .k = 64, .tag = ""}, "x", "y"},
                                      {{.m = 1, .n = 32, .k = 64, .tag = ""}, "y", "x"}});
  request.sources = {{"x", first}, {"y", second}};
  return request;
}

TEST_F(StudiesTest, AStudyMayBeOfSeveralKernels) {
  EXPECT_EQ(run({chain("one", "two"), request("a", "two")}).measured, 2);
  EXPECT_THAT(compiled_, testing::UnorderedElementsAre("x", "y"));
  EXPECT_THAT(lab_.ran, ElementsAre("chain cubin of one, cubin of two", "a cubin of two"));
  const auto known =
      Store::open(database_, Store::Mode::kReadOnly).studies(kChainStudy).at(0).study;
  EXPECT_EQ(known.kernel_id, content_hash(content_hash("one") + content_hash("two")));
  const std::vector<ChainLink> links = links_of(known.parts);
  ASSERT_THAT(links, SizeIs(2)) << "what it is about is the driver's to say";
  EXPECT_EQ(links[1].pdl_off, "y");

  EXPECT_EQ(run({chain("one", "two")}).already, 1);
  EXPECT_EQ(run({chain("one", "another")}).measured, 1) << "another kernel, another study";
  EXPECT_EQ(run({chain("two", "one")}).measured, 1) << "at other links";
}

TEST_F(StudiesTest, OfSeveralKernelsTheOneThatDoesNotCompileIsNamed) {
  EXPECT_EQ(run({chain("one", "#error")}).failed, 1);
  EXPECT_THAT(lab_.ran, IsEmpty());
  const auto known =
      Store::open(database_, Store::Mode::kReadOnly).studies(kChainStudy).at(0).study;
  EXPECT_EQ(known.status, Status::kCompileFailed);
  EXPECT_EQ(known.message, "y: the compiler on #error");
  EXPECT_EQ(run({chain("one", "#error")}).already, 1);
  EXPECT_EQ(run({chain("one", "two")}).failed, 0);
}

TEST_F(StudiesTest, AFailureIsAnOutcomeAndNotTriedAgain) {
  lab_.ends = {{"a", Status::kLaunchFailed}, {"b", Status::kWrongResult}};
  const auto done = run({request("a"), request("b"), request("c")});
  EXPECT_EQ(done.failed, 2);
  EXPECT_THAT(recorded(), ElementsAre("a launch_failed", "b wrong_result", "c ok"));
  EXPECT_EQ(run({request("a"), request("b"), request("c")}).already, 3);
}

TEST_F(StudiesTest, ALostWorkerCostsOneStudy) {
  lab_.lost = {{"a", Status::kTimedOut}, {"b", Status::kCrashed}};
  const auto done = run({request("a"), request("b"), request("c")});
  EXPECT_EQ(done.measured, 3);
  EXPECT_EQ(done.failed, 2);
  EXPECT_THAT(recorded(), ElementsAre("a timed_out", "b crashed", "c ok"));
  EXPECT_EQ(study("a").message, "lost in a");
  lab_.lost.clear();
  EXPECT_EQ(run({request("a"), request("b"), request("c")}).already, 3);
}

TEST_F(StudiesTest, FourLossesInARowEndTheRunAndTheNextGoesOn) {
  std::vector<StudyRequest> requests;
  for (const std::string label : {"a", "b", "ok", "c", "d", "e", "f", "g"}) {
    requests.push_back(request(label));
    if (label != "ok") lab_.lost[label] = Status::kCrashed;
  }
  EXPECT_THAT([&] { run(requests); }, ThrowsMessage<Error>(HasSubstr("4 studies in a row")));
  EXPECT_THAT(recorded(), SizeIs(7)) << "those that came before are kept";
  const auto rest = run(requests);
  EXPECT_EQ(rest.already, 7);
  EXPECT_THAT(lab_.ran, ElementsAre("g cubin of source of g"));
}

TEST_F(StudiesTest, AFreshWorkerIsTriedTwice) {
  lab_.lose_machine = 1;
  EXPECT_EQ(run({request("a")}).measured, 1);
  lab_.lose_machine = 2;
  EXPECT_THAT([&] { run({request("b")}); },
              ThrowsMessage<Error>(HasSubstr("lost twice before it did anything")));
}

TEST_F(StudiesTest, AGpuThatIsGoneAfterALossEndsTheRunWithTheLossKept) {
  struct GoneLab : FakeLab {
    Machine machine() override {
      if (!ran.empty()) throw NoDevice("the GPU fell off the bus");
      return FakeLab::machine();
    }
  } gone;
  gone.lost["a"] = Status::kCrashed;
  const auto compile = [](std::span<const StudySource>, const CompileOptions&, const auto&) {};
  {
    Store store = Store::open(database_, Store::Mode::kReadWrite);
    const std::vector<StudyRequest> requests = {request("a", ""), request("b", "")};
    EXPECT_THROW(carry_out(requests, gone, store, {}, "hgemm-tune micro", compile), NoDevice);
  }
  EXPECT_THAT(gone.ran, SizeIs(1));
  EXPECT_THAT(recorded(), ElementsAre("a crashed"));
}

TEST_F(StudiesTest, StopsBetweenTwoStudiesAndGoesOnFromThere) {
  const std::vector<StudyRequest> requests = {request("a"), request("b"), request("c")};
  const auto done = run(requests, [this] { return lab_.ran.size() == 2; });
  EXPECT_TRUE(done.stopped);
  EXPECT_EQ(done.measured, 2);
  EXPECT_THAT(recorded(), ElementsAre("a ok", "b ok"));
  const auto rest = run(requests);
  EXPECT_FALSE(rest.stopped);
  EXPECT_THAT(lab_.ran, ElementsAre("c cubin of source of c"));
}

TEST_F(StudiesTest, StopsWhileCompiling) {
  const auto done = run({request("a"), request("b")}, [this] { return compiled_.size() == 1; });
  EXPECT_TRUE(done.stopped);
  EXPECT_THAT(compiled_, SizeIs(1));
  EXPECT_THAT(lab_.ran, IsEmpty());
}

TEST_F(StudiesTest, WhatIsNotAStudysFaultEndsTheRunUnrecorded) {
  struct ForbiddenLab : FakeLab {
    Study run(const StudyRequest&, const Cubins&) override {
      throw InputError("no permission to read counters");
    }
  } forbidden;
  const auto compile = [](std::span<const StudySource>, const CompileOptions&, const auto&) {};
  {
    Store store = Store::open(database_, Store::Mode::kReadWrite);
    const std::vector<StudyRequest> requests = {request("a", "")};
    EXPECT_THROW(carry_out(requests, forbidden, store, {}, "x", compile), InputError);
  }
  EXPECT_THAT(recorded(), IsEmpty());
  EXPECT_EQ(environments_with_runs(), 0u);
}

}  // namespace
}  // namespace hgemm
