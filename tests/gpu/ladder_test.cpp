// Every Hopper step of the ladder computes the right thing, again and again, and its stamps add up.
// (The others: ladder_core_test.)
#include <algorithm>
#include <map>

#include "bench/ladder.h"
#include "measure/session.h"
#include "support.h"

namespace hgemm::testing {
namespace {

struct Built {
  LadderPoint point;
  bool probe = false;
  std::filesystem::path cubin;
};

class LadderTest : public GpuTest {
 protected:
  /// All steps for a type, compiled once for the whole program.
  static const std::vector<Built>& built(Dtype dtype) {
    static std::map<Dtype, std::vector<Built>> all;
    auto [found, fresh] = all.try_emplace(dtype);
    if (!fresh) return found->second;
    std::vector<Built>& steps = found->second;
    std::vector<StudySource> sources;
    for (const ladder::Step& step : chosen_ladder_steps("hopper")) {
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

  void expect_correct(const Shape& shape) {
    const Stream stream;
    const Problem problem(shape, 7, without_rotation(), stream);
    for (const Built& step : built(shape.dtype)) {
      if (step.probe) continue;
      SCOPED_TRACE(ladder_label(step.point) + " at " + to_string(shape));
      if (ladder::why_unsupported(step.point.step, shape.m, shape.n, shape.k)) continue;
      const auto candidate = make_ladder_candidate(ladder_label(step.point), step.cubin, problem);
      problem.poison(stream);
      candidate->launch(0, stream.get());
      const Verdict verdict = problem.verify(stream);
      EXPECT_TRUE(verdict.correct) << verdict.message;
      ++checked_;
    }
  }

  static const Built& last_step() {
    const std::vector<Built>& steps = built(Dtype::kBf16);
    return *std::ranges::find(steps.rbegin(), steps.rend(), false, &Built::probe);
  }

  Bench bench() const { return {*device_, nullptr, on_step_}; }

  int checked_ = 0;
  const OnStep on_step_ = nullptr;
};

// 256 x 256 x 64 is one tile of the largest steps and one stage; 384 and 512 deep wrap around the
// rings of 3 and 5 stages; 4608 x 5120 gives each persistent CTA several tiles.
TEST_F(LadderTest, EveryStepIsCorrect) {
  for (const Dtype dtype : {Dtype::kBf16, Dtype::kFp16}) {
    for (const Shape& size : {Shape{.m = 256, .n = 256, .k = 64, .tag = ""},
                              Shape{.m = 256, .n = 512, .k = 384, .tag = ""},
                              Shape{.m = 1024, .n = 2048, .k = 512, .tag = ""},
                              Shape{.m = 4608, .n = 5120, .k = 320, .tag = ""}}) {
      Shape shape = size;
      shape.dtype = dtype;
      expect_correct(shape);
    }
  }
  EXPECT_EQ(checked_, 2 * 4 * 13) << "every step can compute all of these";
}

// A race shows as an output that moves: the same data many times over, several tiles for each CTA.
TEST_F(LadderTest, OutputsDoNotMoveBetweenRuns) {
  const Shape shape{.m = 4608, .n = 5120, .k = 320, .tag = ""};
  const Stream stream;
  const Problem problem(shape, 3, without_rotation(), stream);
  std::vector<std::uint16_t> first(static_cast<std::size_t>(shape.m * shape.n));
  std::vector<std::uint16_t> later(first.size());
  for (const Built& step : built(shape.dtype)) {
    if (step.probe) continue;
    SCOPED_TRACE(ladder_label(step.point));
    const auto candidate = make_ladder_candidate(ladder_label(step.point), step.cubin, problem);
    const auto run = [&](std::vector<std::uint16_t>& output) {
      problem.poison(stream);
      candidate->launch(0, stream.get());
      stream.synchronize();
      check(cudaMemcpy(output.data(), problem.operands(0).d, output.size() * sizeof output[0],
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

// Of the thread that counts products, phases follow one another without a gap, so they must add up
// to the life of the CTA; a k block's products cannot be faster than the tensor cores.
TEST_F(LadderTest, StampsAddUpToTheKernel) {
  const Shape shape{.m = 4096, .n = 4096, .k = 4096, .tag = ""};
  for (const Built& step : built(shape.dtype)) {
    if (!step.probe) continue;
    const StudyRequest request{
        .kind = StudyKind::kProbe, .label = ladder_label(step.point), .shape = shape};
    SCOPED_TRACE(request.label);
    const Study study = run_ladder_probe(request, step.cubin, bench());
    ASSERT_EQ(study.status, Status::kOk) << study.message;
    std::map<std::string, CycleFigure> phases;
    for (const CycleFigure& figure : study.cycles) phases[figure.phase] = figure;
    double sum = 0;
    for (const char* phase : {"load", "wait_full", "mma", "store"}) sum += phases[phase].cycles;
    EXPECT_NEAR(sum / phases["kernel"].cycles, 1, 0.05);
    const ladder::Step& what = step.point.step;
    const std::int64_t tiles = shape.m / what.tile_m * (shape.n / what.tile_n);
    EXPECT_EQ(phases["store"].count, tiles);
    EXPECT_EQ(phases["mma"].count, tiles * (shape.k / what.tile_k));
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
  const StudyRequest request{.kind = StudyKind::kLadder,
                             .label = ladder_label(step.point),
                             .shape = Shape{.m = 2048, .n = 2048, .k = 2048, .tag = ""}};
  const Study study = run_ladder(request, step.cubin, bench());
  ASSERT_EQ(study.status, Status::kOk) << study.message;
  EXPECT_TRUE(study.verdict.correct);
  ASSERT_EQ(study.samples.size(), 15u);
  ASSERT_EQ(study.cublas_samples.size(), 15u);
  for (std::size_t i = 0; i < study.samples.size(); ++i) {
    EXPECT_EQ(study.samples[i].round, static_cast<int>(i));
    EXPECT_EQ(study.cublas_samples[i].round, static_cast<int>(i));
    EXPECT_EQ(study.samples[i].pace, Pace::kRested);
  }
}

TEST_F(LadderTest, WhatAStepCannotComputeIsSaid) {
  const Built& step = last_step();
  StudyRequest request{.kind = StudyKind::kLadder,
                       .label = ladder_label(step.point),
                       .shape = Shape{.m = 2048, .n = 2000, .k = 2048, .tag = ""}};
  const Study study = run_ladder(request, step.cubin, bench());
  EXPECT_EQ(study.status, Status::kInvalidConfig);
  EXPECT_NE(study.message.find("N must be"), std::string::npos) << study.message;
}

}  // namespace
}  // namespace hgemm::testing
