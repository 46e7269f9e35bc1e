// Every Hopper step of the ladder computes the right thing, again and again, and its stamps add up.
// (The others: ladder_core_test.)
#include <algorithm>
#include <map>

#include "device/session.h"
#include "studies/ladder/run.h"
#include "studies/probe/cycles.h"
#include "support.h"

namespace hgemm::testing {
namespace {

struct Built {
  LadderPoint point;
  bool probe = false;
  Cubin cubin;
};

class LadderTest : public GpuTest {
 protected:
  /// All steps for a type, compiled once for the whole program.
  static const std::vector<Built>& built(DataType dtype) {
    static std::map<DataType, std::vector<Built>> all;
    auto [found, fresh] = all.try_emplace(dtype);
    if (!fresh) return found->second;
    std::vector<Built>& steps = found->second;
    std::vector<StudySource> sources;
    for (const ladder::Step& step : chosen_ladder_steps("hopper")) {
      if (is_tuned(step)) continue;  // its kernel is not the ladder's
      for (const bool probe : {false, true}) {
        if (probe && !step.probed) continue;
        steps.push_back({{step, dtype}, probe, {}});
        sources.push_back({ladder_label({step, dtype}), ladder_source({step, dtype}, probe)});
      }
    }
    compile_sources(sources, compile_options(), [&](std::size_t index, const Build& build) {
      EXPECT_EQ(build.status, Status::kOk) << sources.at(index).label << ": " << build.message;
      steps.at(index).cubin = build.cubin;
    });
    return steps;
  }

  void expect_correct(const GemmProblem& problem) {
    const Stream stream;
    const ProblemData data(problem, 7, without_rotation(), stream);
    for (const Built& step : built(problem.a_type)) {
      if (step.probe) continue;
      SCOPED_TRACE(ladder_label(step.point) + " at " + to_string(problem));
      if (ladder::why_unsupported(step.point.step, problem.m, problem.n, problem.k)) continue;
      const auto candidate = make_ladder_candidate(ladder_label(step.point), step.cubin, data);
      data.poison(stream);
      candidate->launch(0, stream.get());
      const Verdict verdict = data.verify(stream);
      EXPECT_TRUE(verdict.correct) << verdict.message;
      ++checked_;
    }
  }

  static const Built& last_step() {
    const std::vector<Built>& steps = built(DataType::kBf16);
    return *std::ranges::find(steps.rbegin(), steps.rend(), false, &Built::probe);
  }

  Bench bench() { return {*device_, nullptr, on_step_, stream()}; }

  int checked_ = 0;
  const OnStep on_step_ = nullptr;
};

// 256 x 256 x 64 is one tile of the largest steps and one stage; 384 and 512 deep wrap around the
// rings of 3 and 5 stages; 4608 x 5120 gives each persistent CTA several tiles.
TEST_F(LadderTest, EveryStepIsCorrect) {
  for (const DataType dtype : {DataType::kBf16, DataType::kFp16}) {
    for (const GemmProblem& size : {GemmProblem{.m = 256, .n = 256, .k = 64, .tag = ""},
                                    GemmProblem{.m = 256, .n = 512, .k = 384, .tag = ""},
                                    GemmProblem{.m = 1024, .n = 2048, .k = 512, .tag = ""},
                                    GemmProblem{.m = 4608, .n = 5120, .k = 320, .tag = ""}}) {
      GemmProblem problem = size;
      problem.set_types(dtype);
      expect_correct(problem);
    }
  }
  EXPECT_EQ(checked_, 2 * 4 * 13) << "every step can compute all of these";
}

// A race shows as an output that moves: the same data many times over, several tiles for each CTA.
TEST_F(LadderTest, OutputsDoNotMoveBetweenRuns) {
  const GemmProblem problem{.m = 4608, .n = 5120, .k = 320, .tag = ""};
  const Stream stream;
  const ProblemData data(problem, 3, without_rotation(), stream);
  std::vector<std::uint16_t> first(static_cast<std::size_t>(problem.m * problem.n));
  std::vector<std::uint16_t> later(first.size());
  for (const Built& step : built(problem.a_type)) {
    if (step.probe) continue;
    SCOPED_TRACE(ladder_label(step.point));
    const auto candidate = make_ladder_candidate(ladder_label(step.point), step.cubin, data);
    const auto run = [&](std::vector<std::uint16_t>& output) {
      data.poison(stream);
      candidate->launch(0, stream.get());
      stream.synchronize();
      check(cudaMemcpy(output.data(), data.operands(0).d, output.size() * sizeof output[0],
                       cudaMemcpyDeviceToHost),
            "reading the output");
    };
    run(first);
    for (int i = 1; i < 20; ++i) {
      run(later);
      ASSERT_EQ(first, later) << "run " << i;
    }
  }
}

// The phases of the thread that counts products follow one another without a gap, so they must add
// up to the life of the CTA. The products of a k block cannot be faster than the tensor cores.
TEST_F(LadderTest, StampsAddUpToTheKernel) {
  const GemmProblem problem{.m = 4096, .n = 4096, .k = 4096, .tag = ""};
  for (const Built& step : built(problem.a_type)) {
    if (!step.probe) continue;
    const StudyRequest request{
        .kind = std::string(kProbeStudy), .label = ladder_label(step.point), .problem = problem};
    SCOPED_TRACE(request.label);
    const Study study = run_ladder_probe(request, step.cubin, bench());
    ASSERT_EQ(study.status, Status::kOk) << study.message;
    std::map<std::string, CycleFigure> phases;
    for (const CycleFigure& figure : cycles_of(study)) phases[figure.phase] = figure;
    double sum = 0;
    for (const char* phase : {"load", "wait_full", "mma", "store"}) sum += phases[phase].cycles;
    EXPECT_NEAR(sum / phases["kernel"].cycles, 1, 0.05);
    const ladder::Step& what = step.point.step;
    const std::int64_t tiles = problem.m / what.tile_m * (problem.n / what.tile_n);
    EXPECT_EQ(phases["store"].count, tiles);
    EXPECT_EQ(phases["mma"].count, tiles * (problem.k / what.tile_k));
    if (what.specialised) {
      EXPECT_EQ(phases["wait_empty"].count, phases["mma"].count);
    }
    // 4096 FLOP per clock and SM.
    const int consumers = what.specialised ? what.threads / 128 - 1 : 1;
    const double least = what.tile_m * what.tile_n / consumers * what.tile_k / 2048.0;
    EXPECT_GT(phases["mma"].cycles / static_cast<double>(phases["mma"].count), 0.9 * least);
  }
}

TEST_F(LadderTest, AStepIsTimedBesideCublas) {
  const Built& step = last_step();
  const StudyRequest request{.kind = std::string(kLadderStudy),
                             .label = ladder_label(step.point),
                             .problem = GemmProblem{.m = 2048, .n = 2048, .k = 2048, .tag = ""}};
  const Study study = run_ladder(request, step.cubin, bench());
  ASSERT_EQ(study.status, Status::kOk) << study.message;
  EXPECT_TRUE(study.verdict.correct);
  EXPECT_EQ(study.series.size(), 2u);
  for (const std::string_view name : {kStepSeries, kCublasLabel}) {
    const std::vector<Sample>& samples = study.samples(name);
    ASSERT_EQ(samples.size(), 15u) << name;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      EXPECT_EQ(samples[i].round, static_cast<int>(i));
      EXPECT_EQ(samples[i].pace, Pace::kRested);
    }
  }
}

// The last step: a config of the tuner with operands of 8 bits, beside cuBLASLt's first choice.
TEST_F(LadderTest, ATunedStepIsTimedBesideTheLibraryForItsTypes) {
  const KernelConfig config =
      parse_label("bm128.bn128.bk128.q4.c1x1.coop2.d1.acc256.linear.tma.persist");
  GemmProblem problem{.m = 2048, .n = 2048, .k = 2048, .tag = ""};
  problem.set_types(DataType::kE4m3);
  const Build build = compile({kernel_for(config, problem)}).front();
  ASSERT_EQ(build.status, Status::kOk) << build.message;
  const StudyRequest request{
      .kind = std::string(kLadderStudy), .label = label(config), .problem = problem};
  const Study study = run_ladder(request, build.cubin, bench());
  ASSERT_EQ(study.status, Status::kOk) << study.message;
  EXPECT_TRUE(study.verdict.correct);
  EXPECT_EQ(study.samples(kStepSeries).size(), 15u);
  EXPECT_EQ(study.samples(kCublasLabel).size(), 15u);

  StudyRequest other = request;  // no config for 16 bits promotes sums
  other.problem->set_types(DataType::kBf16);
  EXPECT_EQ(run_ladder(other, build.cubin, bench()).status, Status::kInvalidConfig);
}

TEST_F(LadderTest, WhatAStepCannotComputeIsSaid) {
  const Built& step = last_step();
  StudyRequest request{.kind = std::string(kLadderStudy),
                       .label = ladder_label(step.point),
                       .problem = GemmProblem{.m = 2048, .n = 2000, .k = 2048, .tag = ""}};
  const Study study = run_ladder(request, step.cubin, bench());
  EXPECT_EQ(study.status, Status::kInvalidConfig);
  EXPECT_NE(study.message.find("N must be"), std::string::npos) << study.message;
}

}  // namespace
}  // namespace hgemm::testing
