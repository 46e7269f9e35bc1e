#include "studies/counters/run.h"

#include <cuda_profiler_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "device/candidate.h"
#include "device/cuda.h"
#include "device/problem_data.h"
#include "families/family.h"
#include "studies/counters/counter_set.h"
#include "studies/counters/run_cupti.h"
#include "studies/ladder/ladder.h"
#include "studies/ladder/run.h"

namespace hgemm {
namespace {

std::unique_ptr<Candidate> make_candidate(const std::string& label, const Cubin& cubin,
                                          const ProblemData& data) {
  if (parse_ladder_label(label)) return make_ladder_candidate(label, cubin, data);
  if (!is_baseline(label)) {
    return make_kernel_candidate(kernel_for(parse_label(label), data.problem()), cubin, data);
  }
  for (Baseline& baseline : make_baselines(data)) {
    if (baseline.label == label) return std::move(baseline.candidate);
  }
  throw Error(
      fmt::format("cuBLASLt's heuristic has no {} at {}", label, to_string(data.problem())));
}

class Counting {
 public:
  Counting(const StudyRequest& request, const Cubin& cubin, const Bench& bench)
      : bench_(bench),
        label_(request.label),
        problem_(request.problem.value()),
        data_(problem_, request.seed, bench.device, bench.stream) {
    announce("loading", 0);
    candidate_ = make_candidate(label_, cubin, data_);
  }

  void fill(Study& study) {
    announce("the first launch", 0);
    data_.poison(bench_.stream);
    launch(data_.check_set());
    study.verdict = verdict();
    if (study.verdict.correct) {
      // Poisoned again, so that the following check sees the output of the profiled launches.
      data_.poison(bench_.stream);
      study.figures = count();
      // Profiled launches write the output that is checked only if the data is normal.
      if (data_.check_set() != 0) launch(data_.check_set());
      study.verdict = verdict();
    }
    if (!study.verdict.correct) {
      study.status = Status::kWrongResult;
      study.message = study.verdict.message;
      study.figures.clear();
      return;
    }
    study.message = candidate_->describe();
  }

  void launch_for_profiler() {
    fill_l2();
    check(cudaProfilerStart(), "starting the profiler around us");
    launch(0);
    bench_.stream.synchronize();
    check(cudaProfilerStop(), "stopping the profiler around us");
  }

 private:
  Verdict verdict() const {
    return data_.verify(bench_.stream, candidate_->roundings(), candidate_->rows_behind());
  }

  /// Fills L2 as the launches before a timed one do (device/sampler.cpp rotates in the same way):
  /// with other input sets, or with the same one if there is only one.
  void fill_l2() {
    for (int set = data_.sets() - 1; set > 0; --set) launch(set);
    if (data_.sets() == 1) launch(0);
    bench_.stream.synchronize();
  }

  std::vector<Figure> count() {
    const std::vector<CounterMetric> metrics = counter_metrics(problem_.a_type);
    std::vector<std::string> sources;
    for (const CounterMetric& metric : metrics) sources.push_back(metric.source);

    const double pass_ms = kPassOverheadMs + data_.sets() * launch_ms();
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
          bench_.stream.synchronize();
        });

    std::vector<Figure> figures;
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      figures.push_back(
          counter_figure(metrics[i].name, metrics[i].unit, values[i], metrics[i].source));
    }
    std::ranges::move(derived_counters(figures, problem_, bench_.device.sm_count),
                      std::back_inserter(figures));
    return figures;
  }

  double launch_ms() {
    Event start;
    Event end;
    start.record(bench_.stream);
    launch(0);
    end.record(bench_.stream);
    bench_.stream.synchronize();
    return end.us_since(start) * 1e-3;
  }
  void launch(int set) const { candidate_->launch(set, bench_.stream.get()); }
  void announce(const char* doing, double expected_ms) const {
    if (bench_.on_step) bench_.on_step({doing, label_, true, expected_ms});
  }

  // Far above CUPTI's usual time, so that a slow start of it does not count as a hang.
  static constexpr double kStartMs = 2000;
  static constexpr double kPassOverheadMs = 500;

  const Bench& bench_;
  std::string label_;
  GemmProblem problem_;
  ProblemData data_;
  std::unique_ptr<Candidate> candidate_;
};

}  // namespace

Study run_counters(const StudyRequest& request, const Cubin& cubin, const Bench& bench) {
  if (!request.problem) throw std::invalid_argument("counters are read at a problem");
  Study study;
  study.kind = request.kind;
  study.label = request.label;
  study.problem = request.problem;
  Counting(request, cubin, bench).fill(study);
  return study;
}

void launch_for_profiler(const StudyRequest& request, const Cubin& cubin, const Bench& bench) {
  Counting(request, cubin, bench).launch_for_profiler();
}

}  // namespace hgemm
