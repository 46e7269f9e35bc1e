#include "bench/counters.h"

#include <cuda_profiler_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "bench/cupti.h"
#include "bench/ladder.h"
#include "gpu/cuda.h"
#include "measure/candidate.h"
#include "problem/problem.h"
#include "space/label.h"
#include "study/counter_set.h"
#include "study/ladder.h"

namespace hgemm {
namespace {

std::unique_ptr<Candidate> make_candidate(const std::string& label,
                                          const std::filesystem::path& cubin,
                                          const Problem& problem) {
  if (parse_ladder_label(label)) return make_ladder_candidate(label, cubin, problem);
  if (!is_baseline(label)) return make_kernel_candidate(parse_label(label), cubin, problem);
  for (Baseline& baseline : make_baselines(problem)) {
    if (baseline.label == label) return std::move(baseline.candidate);
  }
  throw Error(
      fmt::format("cuBLASLt's heuristic has no {} at {}", label, to_string(problem.shape())));
}

class Counting {
 public:
  Counting(const StudyRequest& request, const std::filesystem::path& cubin, const Bench& bench)
      : bench_(bench),
        label_(request.label),
        shape_(request.shape.value()),
        problem_(shape_, request.seed, bench.device, stream_) {
    announce("loading", 0);
    candidate_ = make_candidate(label_, cubin, problem_);
  }

  void fill(Study& study) {
    announce("the first launch", 0);
    problem_.poison(stream_);
    candidate_->launch(0, stream_.get());
    study.verdict = problem_.verify(stream_);
    if (study.verdict.correct) {
      // Poisoned again, so that what is checked then is what the profiled launches wrote.
      problem_.poison(stream_);
      study.counters = count();
      study.verdict = problem_.verify(stream_);
    }
    if (!study.verdict.correct) {
      study.status = Status::kWrongResult;
      study.message = study.verdict.message;
      study.counters.clear();
      return;
    }
    study.message = candidate_->describe();
  }

  void launch_for_profiler() {
    fill_l2();
    check(cudaProfilerStart(), "starting the profiler around us");
    launch(0);
    stream_.synchronize();
    check(cudaProfilerStop(), "stopping the profiler around us");
  }

 private:
  /// With what the launches before a timed one leave there (measure/session.cpp rotates alike):
  /// other inputs, or its own where one set is all there is.
  void fill_l2() {
    for (int set = problem_.sets() - 1; set > 0; --set) launch(set);
    if (problem_.sets() == 1) launch(0);
    stream_.synchronize();
  }

  std::vector<CounterFigure> count() {
    const std::vector<CounterMetric> metrics = counter_metrics(shape_.dtype);
    std::vector<std::string> sources;
    for (const CounterMetric& metric : metrics) sources.push_back(metric.source);

    const double pass_ms = kPassOverheadMs + problem_.sets() * launch_ms();
    announce("loading the profiler", kStartMs);
    const Cupti cupti;
    const std::vector<double> values = cupti.measure(
        sources,
        [&] {
          announce("reading hardware counters", pass_ms);
          fill_l2();
        },
        [&] {
          launch(0);
          stream_.synchronize();
        });

    std::vector<CounterFigure> figures;
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      figures.push_back({metrics[i].name, metrics[i].unit, values[i], metrics[i].source});
    }
    std::ranges::move(derived_counters(figures, shape_, bench_.device.sm_count),
                      std::back_inserter(figures));
    return figures;
  }

  double launch_ms() {
    Event start;
    Event end;
    start.record(stream_);
    launch(0);
    end.record(stream_);
    stream_.synchronize();
    return end.us_since(start) * 1e-3;
  }
  void launch(int set) const { candidate_->launch(set, stream_.get()); }
  void announce(const char* doing, double expected_ms) const {
    if (bench_.on_step) bench_.on_step({doing, label_, true, expected_ms});
  }

  // Far above what CUPTI takes, so that a slow start of it is not called a hang.
  static constexpr double kStartMs = 2000;
  static constexpr double kPassOverheadMs = 500;

  const Bench& bench_;
  std::string label_;
  Shape shape_;
  Stream stream_;
  Problem problem_;
  std::unique_ptr<Candidate> candidate_;
};

}  // namespace

Study run_counters(const StudyRequest& request, const std::filesystem::path& cubin,
                   const Bench& bench) {
  if (!request.shape) throw std::invalid_argument("counters are read at a shape");
  Study study;
  study.kind = StudyKind::kCounters;
  study.label = request.label;
  study.shape = request.shape;
  Counting(request, cubin, bench).fill(study);
  return study;
}

void launch_for_profiler(const StudyRequest& request, const std::filesystem::path& cubin,
                         const Bench& bench) {
  Counting(request, cubin, bench).launch_for_profiler();
}

}  // namespace hgemm
