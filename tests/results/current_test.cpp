// Which results count is decided by what runs: of kernels as they are now, wherever and by
// whichever state of the program they were recorded.
#include "results/current.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "results/best.h"
#include "results/replay.h"
#include "tests/results/recordings.h"

namespace hgemm {
namespace {

using namespace test;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

const KernelConfig kTiled = parse_label(kA);
const KernelConfig kOther = parse_label(kB);
const KernelConfig kSwapAb = SwapAbConfig{};
const KernelConfig kGemv = GemvConfig{};

BuildFacts built(const std::string& source_key, const std::string& kernel_id) {
  BuildFacts facts;
  facts.source_key = source_key;
  facts.kernel_id = kernel_id;
  return facts;
}

// ---- Identities ----

/// Names sources as the tests say: by the build's name and a version that is 1 where none is set.
struct FakeSources {
  std::map<std::string, int> versions{};
  std::vector<std::string> asked{};

  std::string key_of(const Kernel& kernel) {
    const std::string name = build_name(kernel);
    asked.push_back(name);
    const auto version = versions.find(name);
    return fmt::format("{} v{}", name, version == versions.end() ? 1 : version->second);
  }
  CurrentKernels kernels(const std::vector<BuildFacts>& builds = {}) {
    return {[this](const Kernel& kernel) { return key_of(kernel); }, builds};
  }
};

const std::string kKeyOfA = kA + " of bf16 v1";

Trial of_kernel(const std::string& label, const std::string& kernel_id) {
  Trial trial = ok(label, {});
  trial.kernel_id = kernel_id;
  return trial;
}

TEST(CurrentKernels, AKernelIsTheKnownBuildOfItsSource) {
  FakeSources sources;
  CurrentKernels kernels = sources.kernels({built(kKeyOfA, "c1"), built("another source", "c2")});
  EXPECT_EQ(kernels.identity(kTiled, kProblem), "c1");
  EXPECT_TRUE(kernels.is_current(of_kernel(kA, "c1"), kProblem));
  EXPECT_FALSE(kernels.is_current(of_kernel(kA, "c2"), kProblem)) << "code of another source";
  EXPECT_FALSE(kernels.is_current(of_kernel(kB, "c1"), kProblem)) << "another config";
}

TEST(CurrentKernels, WithoutABuildItIsItsSource) {
  FakeSources sources;
  CurrentKernels kernels = sources.kernels();
  EXPECT_EQ(kernels.identity(kTiled, kProblem), "source:" + kKeyOfA);
  EXPECT_TRUE(kernels.is_current(of_kernel(kA, "source:" + kKeyOfA), kProblem))
      << "it did not compile, and would not now";
  kernels.add(built(kKeyOfA, ""));
  EXPECT_EQ(kernels.identity(kTiled, kProblem), "source:" + kKeyOfA) << "a build that failed";
  kernels.add(built(kKeyOfA, "c1"));
  EXPECT_EQ(kernels.identity(kTiled, kProblem), "c1");
}

TEST(CurrentKernels, AnotherSourceOfTheSameCodeIsTheSameKernel) {
  FakeSources sources{.versions = {{kA + " of bf16", 2}}};
  const Trial trial = of_kernel(kA, "c1");
  CurrentKernels kernels = sources.kernels({built(kKeyOfA, "c1")});
  EXPECT_FALSE(kernels.is_current(trial, kProblem)) << "nobody has compiled it yet";
  kernels.add(built(kA + " of bf16 v2", "c1"));
  EXPECT_TRUE(kernels.is_current(trial, kProblem));
}

TEST(CurrentKernels, BaselinesOldNamesAndStrangersAreNotCurrent) {
  FakeSources sources;
  CurrentKernels kernels = sources.kernels({built(kKeyOfA, "c1")});
  EXPECT_FALSE(kernels.is_current(of_kernel("cublas", ""), kProblem));
  EXPECT_FALSE(kernels.is_current(of_kernel("cublaslt.0", ""), kProblem));
  EXPECT_FALSE(kernels.is_current(of_kernel(kA, "sources:k1"), kProblem)) << "of an old database";
  EXPECT_FALSE(kernels.is_current(of_kernel("a_family_that_is_gone.v1", "c1"), kProblem));
}

TEST(CurrentKernels, EachTypeAndFixedExtentHasAKernelOfItsOwn) {
  FakeSources sources;
  CurrentKernels kernels = sources.kernels();
  GemmProblem fp16 = kProblem, fp32_out = kProblem, larger = kProblem;
  fp16.set_types(DataType::kFp16);
  fp32_out.d_type = DataType::kFp32;
  larger.m *= 2;
  const std::string plain = kernels.identity(kTiled, kProblem);
  EXPECT_EQ(kernels.identity(kTiled, larger), plain);
  EXPECT_NE(kernels.identity(kTiled, fp16), plain);
  EXPECT_NE(kernels.identity(kTiled, fp32_out), plain);
  const KernelConfig fixed = TiledConfig{.bn = 64, .fixed = true};
  EXPECT_NE(kernels.identity(fixed, kProblem), plain);
  EXPECT_NE(kernels.identity(fixed, larger), kernels.identity(fixed, kProblem));
}

TEST(CurrentKernels, ASourceIsMadeOnce) {
  FakeSources sources;
  CurrentKernels kernels = sources.kernels({built(kKeyOfA, "c1")});
  GemmProblem larger = kProblem;
  larger.m *= 2;
  for (const GemmProblem& problem : {kProblem, larger, kProblem}) {
    EXPECT_EQ(kernels.identity(kTiled, problem), "c1");
  }
  EXPECT_THAT(sources.asked, SizeIs(1));
}

// ---- What a search, a table or an export takes for the best ----

/// Trials of these kernels are current.
IsCurrent current(std::vector<std::string> kernel_ids) {
  return [kernel_ids](const Trial& trial, const GemmProblem&) {
    return std::ranges::count(kernel_ids, trial.kernel_id) > 0;
  };
}

Trial timed(const std::string& label, double time_us, const std::string& kernel_id) {
  Trial trial = ok(label, samples(time_us, 3, 9));
  trial.kernel_id = kernel_id;
  return trial;
}

/// A race that the program with these kernel sources recorded; cublas takes `cublas_us`.
RecordedRace race_of(const std::string& kernel_sources, std::vector<Trial> trials,
                     double cublas_us = 100) {
  trials.insert(trials.begin(), ok("cublas", samples(cublas_us, 0, 12)));
  RecordedRace recorded = race(std::move(trials));
  recorded.run.kernel_sources = kernel_sources;
  return recorded;
}

BestRow only_row(const std::vector<RecordedRace>& races, const IsCurrent& is_current = {}) {
  const auto rows = best_rows(races, {}, Objective::kTime, is_current);
  EXPECT_THAT(rows, SizeIs(1));
  return rows.at(0);
}

std::vector<std::string> finalists_of(const BestRow& row) {
  std::vector<std::string> labels;
  for (const Finalist& finalist : row.finalists) labels.push_back(finalist.label);
  return labels;
}

TEST(BestOfCurrent, AnEditThatChangesNoKernelKeepsAllResults) {
  const std::vector races = {race_of("k1", {timed(kA, 80, "a"), timed(kB, 95, "b")}),
                             race_of("k2", {timed(kC, 90, "c")})};
  const BestRow row = only_row(races, current({"a", "b", "c"}));
  EXPECT_EQ(row.label, kA);
  EXPECT_EQ(row.kernel_id, "a");
  EXPECT_EQ(row.run.kernel_sources, "k1") << "of the winner's race";
  EXPECT_EQ(row.trials, 3);
  EXPECT_THAT(finalists_of(row), ElementsAre(kA, kC, kB));

  const BestRow without = only_row(races);
  EXPECT_EQ(without.label, kC) << "nobody says that they are the same kernels";
  EXPECT_EQ(without.trials, 1);
}

TEST(BestOfCurrent, AnEditOfOneKernelTakesOnlyItsResultsBack) {
  const std::vector races = {race_of("k1", {timed(kA, 80, "old a"), timed(kB, 85, "b")}),
                             race_of("k2", {timed(kC, 90, "c")})};
  BestRow row = only_row(races, current({"a", "b", "c"}));
  EXPECT_EQ(row.label, kB);
  EXPECT_EQ(row.trials, 2);
  EXPECT_THAT(finalists_of(row), ElementsAre(kB, kC));

  // For one config the current kernel counts, although the other one was faster.
  const std::vector again = {races[0], race_of("k2", {timed(kA, 88, "a")})};
  row = only_row(again, current({"a", "b"}));
  EXPECT_EQ(row.label, kB);
  EXPECT_THAT(finalists_of(row), ElementsAre(kB, kA));
  EXPECT_THAT(row.finalists[1].cublas->value, DoubleNear(100.0 / 88, 1e-9));
}

TEST(BestOfCurrent, KernelsOfOlderSourcesAreNotMixedInUnlessAllOfTheNewestRaceAreCurrent) {
  // The newest race has a kernel that this program would not run any more.
  const std::vector races = {race_of("k1", {timed(kA, 80, "a")}),
                             race_of("k2", {timed(kB, 90, "b"), timed(kC, 95, "old c")})};
  const BestRow row = only_row(races, current({"a", "b", "c"}));
  EXPECT_EQ(row.label, kB);
  EXPECT_EQ(row.trials, 2) << "of what was recorded with the newest sources";
  EXPECT_THAT(finalists_of(row), ElementsAre(kB, kC));
  EXPECT_EQ(only_row(races, current({})).label, kB);
  EXPECT_EQ(only_row(races, current({"a"})).label, kB);
}

TEST(BestOfCurrent, HowAnOldKernelEndedSaysNothingOfTheCurrentOne) {
  Trial wrong = failed(kA, Status::kWrongResult);
  wrong.kernel_id = "old a";
  const std::vector races = {race_of("k1", {timed(kA, 80, "a")}), race_of("k2", {wrong}),
                             race_of("k1", {timed(kB, 90, "b")})};
  BestRow row = only_row(races, current({"a", "b"}));
  EXPECT_EQ(row.label, kA);
  EXPECT_EQ(row.failed, 0);
  wrong.kernel_id = "a";
  row = only_row({races[0], race_of("k2", {wrong}), races[2]}, current({"a", "b"}));
  EXPECT_EQ(row.label, kB) << "found wrong by another state of the program: the same kernel";
  EXPECT_EQ(row.failed, 1);
}

TEST(BestOfCurrent, BaselinesHaveNoKernelOfOursAndStandInNoWay) {
  const std::vector races = {
      race_of("k1", {timed(kA, 80, "a"), ok("cublaslt.0", samples(95, 0, 12))}),
      race_of("k2", {timed(kB, 90, "b"), ok("cublaslt.1", samples(96, 0, 12))})};
  const BestRow row = only_row(races, current({"a", "b"}));
  EXPECT_EQ(row.label, kA);
  EXPECT_EQ(row.cublaslt_label, "cublaslt.0") << "of the winner's race";
}

TEST(BestOfCurrent, EnvironmentsAreNotMixedWhateverTheKernels) {
  std::vector races = {race_of("k1", {timed(kA, 80, "a")}), race_of("k1", {timed(kB, 90, "b")})};
  races[1].environment.driver = "590";
  EXPECT_EQ(only_row(races, current({"a", "b"})).label, kB);
}

TEST(BestOfCurrent, GenerationsAreToldApartInTruthsToo) {
  const std::vector races = {
      race_of("k1", {timed(kA, 80, "a"), timed(kB, 85, "b"), timed(kC, 99, "c")}),
      race_of("k2", {timed(kA, 50, "new a")})};
  const auto all = truths(races);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_THAT(all[0].entries, SizeIs(3)) << "of the sources with the most configs";
  EXPECT_THAT(all[0].best(), DoubleNear(100.0 / 80, 1e-9));
}

// ---- Cards of one model ----

/// On the second card everything takes longer.
std::vector<RecordedRace> two_cards() {
  std::vector races = {race_of("k1", {timed(kA, 90, "a"), timed(kC, 92, "c")}, 100),
                       race_of("k1", {timed(kB, 102, "b")}, 120)};
  races[1].run.gpu_uuid = "GPU-2";
  races[1].run.host = "node2";
  return races;
}

TEST(Cards, RacesOfOneModelArePooled) {
  const auto races = two_cards();
  const BestRow row = only_row(races);
  EXPECT_EQ(row.label, kB);
  EXPECT_EQ(row.run.gpu_uuid, "GPU-2");
  EXPECT_EQ(row.run.host, "node2");
  EXPECT_EQ(row.trials, 3);
  EXPECT_THAT(finalists_of(row), ElementsAre(kB, kA, kC));
  EXPECT_EQ(only_row({races[1], races[0]}).label, kB) << "in any order";
}

TEST(Cards, ARatioIsOfOneRace) {
  const auto races = two_cards();
  const BestRow row = only_row(races);
  EXPECT_THAT(row.cublas->value, DoubleNear(120.0 / 102, 1e-9));
  EXPECT_THAT(*row.cublas_time_us / *row.time_us, DoubleNear(120.0 / 102, 1e-9));
  EXPECT_THAT(row.finalists[1].cublas->value, DoubleNear(100.0 / 90, 1e-9));
  EXPECT_FALSE(row.finalists[1].winner.has_value()) << "they ran on different cards";
  EXPECT_THAT(row.ties, IsEmpty());

  // One whose race has no cublas has no ratio, though cublas ran on the other card.
  RecordedRace alone = race({timed(kB, 10, "b")});
  alone.run.gpu_uuid = "GPU-2";
  const BestRow only_timed = only_row({alone});
  EXPECT_FALSE(only_timed.cublas.has_value());
  EXPECT_FALSE(only_timed.cublas_time_us.has_value());
  const BestRow beside = only_row({races[0], alone});
  EXPECT_EQ(beside.label, kA) << "what has a ratio comes first";
  EXPECT_FALSE(std::ranges::find(beside.finalists, kB, &Finalist::label)->cublas.has_value());
}

TEST(Cards, ATruthIsOfAllCardsOfAModelEachWithItsCublas) {
  const auto races = two_cards();
  const auto all = truths(races);
  ASSERT_THAT(all, SizeIs(1));
  std::map<std::string, double> speeds;
  for (const Truth::Entry& entry : all[0].entries) speeds[label(entry.config)] = entry.speed;
  ASSERT_THAT(speeds, SizeIs(3));
  EXPECT_THAT(speeds.at(kA), DoubleNear(100.0 / 90, 1e-9));
  EXPECT_THAT(speeds.at(kC), DoubleNear(100.0 / 92, 1e-9));
  EXPECT_THAT(speeds.at(kB), DoubleNear(120.0 / 102, 1e-9));
}

TEST(Cards, AnotherModelIsAnotherEnvironment) {
  auto races = two_cards();
  races[1].environment.power_limit_w = 400;  // the same card, limited
  EXPECT_EQ(only_row(races).label, kB) << "the newest alone";
  EXPECT_EQ(only_row(races).trials, 1);
  EXPECT_THAT(truths(races).at(0).entries, SizeIs(2)) << "the one with the most configs";
}

// ---- The real sources ----

/// The kernel files of this program with an edit.
class EditedKernels {
 public:
  /// `edit` of the file of that path below kernels/; it must change it.
  EditedKernels(const std::string& path, const std::function<std::string(std::string)>& edit) {
    for (EmbeddedFile file : embedded_kernels()) {
      if (file.path == "kernels/" + path) {
        const std::string before(file.text);
        file.text = texts_.emplace_back(edit(before));
        EXPECT_NE(file.text, before) << path;
      }
      toolchain_files_.push_back(file);
    }
    EXPECT_THAT(texts_, SizeIs(1)) << path;
  }

  SourceKeyOf keys() const {
    Toolchain toolchain;
    toolchain.kernel_files = toolchain_files_;
    return source_keys(toolchain);
  }

 private:
  std::list<std::string> texts_;
  std::vector<EmbeddedFile> toolchain_files_;
};

std::function<std::string(std::string)> with(const std::string& addition) {
  return [addition](const std::string& text) { return text + addition; };
}
const std::string kCode = "\nnamespace hgemm { constexpr int kAddedForATest = 1; }\n";

/// Which families' kernels have another source after the edit.
std::vector<std::string> changed_by(const EditedKernels& edited) {
  const SourceKeyOf before = source_keys(), after = edited.keys();
  std::vector<std::string> changed;
  for (const KernelConfig& config : {kTiled, kOther, kSwapAb, kGemv}) {
    const Kernel kernel = kernel_for(config, kProblem);
    if (before(kernel) != after(kernel)) changed.push_back(label(config));
  }
  return changed;
}

TEST(SourceKeys, CommentsAndEmptyLinesChangeNone) {
  for (const char* path : {"common/types.h", "common/wgmma.cuh", "tiled/config.h",
                           "tiled/kernel.cuh", "swap_ab/kernel.cuh", "gemv/kernel.cuh"}) {
    EXPECT_THAT(changed_by({path, with("\n\n// A remark: it's \"new\".\n/* and\n another */\n")}),
                IsEmpty())
        << path;
    EXPECT_THAT(changed_by({path, [](std::string text) { return "// A remark.\n" + text; }}),
                IsEmpty())
        << path;
    const auto reworded = [](std::string text) {
      return text.insert(text.find("//") + 2, " Reworded.");
    };
    EXPECT_THAT(changed_by({path, reworded}), IsEmpty()) << path;
  }
}

TEST(SourceKeys, AHeaderThatACommentNamesIsNotIncluded) {
  const auto with_example = with("\n// In a kernel: #include \"gemv/kernel.cuh\"\n");
  EXPECT_THAT(changed_by({"tiled/kernel.cuh", with_example}), IsEmpty());
}

TEST(SourceKeys, CodeChangesWhatIncludesIt) {
  const auto changed = [](const char* path) { return changed_by({path, with(kCode)}); };
  EXPECT_THAT(changed("gemv/kernel.cuh"), ElementsAre(label(kGemv)));
  EXPECT_THAT(changed("gemv/rules.h"), ElementsAre(label(kGemv)));
  EXPECT_THAT(changed("swap_ab/kernel.cuh"), ElementsAre(label(kSwapAb)));
  EXPECT_THAT(changed("tiled/producer.cuh"), UnorderedElementsAre(kA, kB));
  EXPECT_THAT(changed("common/wgmma.cuh"), UnorderedElementsAre(kA, kB, label(kSwapAb)));
  EXPECT_THAT(changed("common/params.h"),
              UnorderedElementsAre(kA, kB, label(kSwapAb), label(kGemv)));
  EXPECT_THAT(changed("common/pack.cuh"), IsEmpty()) << "none of these packs";
  const Kernel packs = kernel_for(TiledConfig{.pack = true}, kProblem);
  const EditedKernels edited("common/pack.cuh", with(kCode));
  EXPECT_NE(source_keys()(packs), edited.keys()(packs));
}

TEST(SourceKeys, FlagsAreAPartOfThem) {
  Toolchain other;
  other.flags.push_back("-DX");
  const Kernel kernel = kernel_for(kTiled, kProblem);
  EXPECT_NE(source_keys(other)(kernel), source_keys()(kernel));
  EXPECT_EQ(source_keys()(kernel), source_keys()(kernel)) << "the same whenever it is asked for";
}

/// Trials of a tiled and of a GEMV config, recorded with the sources that this program has.
class EditedSourcesTest : public ::testing::Test {
 protected:
  /// By a program whose kernels are these.
  static BestRow best_with(const EditedKernels& edited) {
    const SourceKeyOf recorded = source_keys();
    const auto kernels = std::make_shared<CurrentKernels>(
        edited.keys(),
        std::vector{built(recorded(kernel_for(kTiled, kProblem)), "code of tiled"),
                    built(recorded(kernel_for(kGemv, kProblem)), "code of gemv"),
                    // The program has measured one more since the edit.
                    built(edited.keys()(kernel_for(kOther, kProblem)), "code of other")});
    const std::vector races = {race_of("before", {timed(kA, 90, "code of tiled"),
                                                  timed(label(kGemv), 80, "code of gemv")}),
                               race_of("after", {timed(kB, 95, "code of other")})};
    return only_row(races, [kernels](const Trial& trial, const GemmProblem& problem) {
      return kernels->is_current(trial, problem);
    });
  }
};

TEST_F(EditedSourcesTest, ResultsStayCurrentAfterAnEditOfAComment) {
  const BestRow row = best_with({"common/ptx.cuh", with("// A remark.\n")});
  EXPECT_THAT(finalists_of(row), ElementsAre(label(kGemv), kA, kB));
}

TEST_F(EditedSourcesTest, ResultsOfWhatIncludesAnEditedHeaderDoNot) {
  EXPECT_THAT(finalists_of(best_with({"gemv/kernel.cuh", with(kCode)})), ElementsAre(kA, kB));
  EXPECT_THAT(finalists_of(best_with({"tiled/kernel.cuh", with(kCode)})),
              ElementsAre(label(kGemv), kB));
  EXPECT_THAT(finalists_of(best_with({"common/params.h", with(kCode)})), ElementsAre(kB));
}

}  // namespace
}  // namespace hgemm
