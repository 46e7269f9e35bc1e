#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <thread>
#include <utility>

#include "base/statistics.h"
#include "device/candidate.h"
#include "device/clock_stamp.h"
#include "device/launch_mode.h"
#include "device/protocol.h"
#include "families/family.h"
#include "studies/probe/launch.h"
#include "studies/probe/run.h"

namespace hgemm {
namespace {

constexpr int kRounds = 5;
/// Records keep the low word of the clock, which wraps after 2.1 s at 2 GHz.
constexpr double kLongestLaunchUs = 1e6;

/// The kernel with cycle stamps, and the memory for them.
class ProbedKernel : public Candidate {
 public:
  ProbedKernel(const TiledConfig& config, const Cubin& cubin, const ProblemData& data)
      : config_(config),
        problem_(data.problem()),
        kernel_(kernel_for(config, problem_), cubin),
        ctas_(kernel_.grid_ctas(problem_)),
        tiles_(probe_tile_records(config, problem_) * sizeof(ProbeTile)),
        roles_(probe_role_records(config, ctas_) * sizeof(ProbeRole)) {
    for (int set = 0; set < data.launchable_sets(); ++set) {
      params_.push_back(make_params(kernel_for(config, problem_), problem_, data.operands(set)));
    }
  }

  void launch(int set, cudaStream_t stream) const override {
    kernel_.launch(params_.at(static_cast<std::size_t>(set)), ctas_, stream,
                   {tiles_.as<ProbeTile>(), roles_.as<ProbeRole>()});
  }
  void clear(const Stream& stream) const {
    for (const DeviceMemory* memory : {&tiles_, &roles_}) {
      check(cudaMemsetAsync(memory->data(), 0, memory->bytes(), stream.get()),
            "clearing the records of the probe");
    }
  }
  /// The records of the last launch, which must have completed.
  ProbeLaunch read() const {
    ProbeLaunch launch{config_, problem_, {}, {}};
    launch.tiles.resize(tiles_.bytes() / sizeof(ProbeTile));
    launch.roles.resize(roles_.bytes() / sizeof(ProbeRole));
    copy(launch.tiles.data(), tiles_);
    copy(launch.roles.data(), roles_);
    return launch;
  }

 private:
  static void copy(void* to, const DeviceMemory& from) {
    check(cudaMemcpy(to, from.data(), from.bytes(), cudaMemcpyDeviceToHost),
          "reading the records of the probe");
  }

  TiledConfig config_;
  GemmProblem problem_;
  LoadedKernel kernel_;
  int ctas_;
  DeviceMemory tiles_, roles_;
  std::vector<LaunchParams> params_;
};

/// Measures the plain and the probed kernel at one problem, at the rested pace (device/protocol.h).
class ProbeBench {
 public:
  ProbeBench(const StudyRequest& request, const Cubin& cubin, const Bench& bench)
      : request_(request),
        bench_(bench),
        config_(std::get<TiledConfig>(parse_label(request.label))),
        data_(*request.problem, request.seed, bench.device, bench.stream),
        probed_(config_, cubin, data_),
        plain_(make_kernel_candidate(plain_kernel(), cubin, data_)),
        stamps_(bench.device.sm_count, 2) {}

  void run(Study& study) {
    for (const Candidate* candidate :
         std::initializer_list<const Candidate*>{plain_.get(), &probed_}) {
      if (!verify(*candidate, study)) return;
    }
    const Replay plain = capture(*plain_);
    const Replay probed = capture(probed_);
    std::vector<double> plain_cycles, probed_cycles;
    std::vector<ProbeLaunch> launches;
    for (int round = 0; round < kRounds; ++round) {
      plain_cycles.push_back(cycles_of(plain));
      probed_cycles.push_back(cycles_of(probed));
      launches.push_back(watch(probed));
      if (const std::string data = contradiction(launches.back()); !data.empty()) {
        study.status = Status::kWrongResult;
        study.message = "the stamps contradict one another: " + data;
        return;
      }
    }
    std::ranges::sort(launches, {}, &ProbeLaunch::duration_ns);
    const ProbeLaunch& chosen = launches[kRounds / 2];
    std::vector<CycleFigure> cycles = cycle_figures(chosen);
    cycles.push_back({"kernel", "plain", "launch", 1, median(plain_cycles)});
    cycles.push_back({"kernel", "probed", "launch", 1, median(probed_cycles)});
    study.figures = recorded_cycles(cycles);
    if (request_.timeline) study.spans = timeline(chosen);
    study.message = fmt::format("{:.0f} MHz, {:.2f} us in the launch of which this is",
                                chosen.sm_mhz(), chosen.duration_ns() * 1e-3);
  }

 private:
  struct Replay {
    Graph graph;
    int launches = 0;
    double estimate_us = 0;  ///< of one launch
    double ms() const { return estimate_us * launches * 1e-3; }
  };

  Kernel plain_kernel() const {
    TiledConfig config = config_;
    config.probe = false;
    return kernel_for(config, *request_.problem);
  }

  /// Runs on poisoned output. A wrong result ends the study.
  bool verify(const Candidate& candidate, Study& study) const {
    announce("the first launch", 0);
    data_.poison(bench_.stream);
    candidate.launch(data_.check_set(), bench_.stream.get());
    study.verdict = data_.verify(bench_.stream);
    if (study.verdict.correct) return true;
    study.status = Status::kWrongResult;
    study.message = study.verdict.message;
    return false;
  }

  /// The launches of a sample (device/protocol.h) as one graph.
  Replay capture(const Candidate& candidate) {
    const int sets = data_.sets();
    const auto graph_of = [&](int launches) {
      return Graph::capture(bench_.stream, [&] {
        for (int i = 0; i < launches; ++i) candidate.launch(i % sets, bench_.stream.get());
      });
    };
    constexpr int kFew = 8;
    const double estimate_us = time_us(graph_of(kFew)) / kFew;
    if (estimate_us > kLongestLaunchUs) {
      throw Error(fmt::format("a launch takes {:.1f} s, and the stamps can tell at most 1 s",
                              estimate_us * 1e-6));
    }
    const int wanted =
        std::clamp(static_cast<int>(std::ceil(protocol::kFull.sample_us / estimate_us)), 1,
                   protocol::kMaxLaunchesPerSample);
    const int launches = (wanted + sets - 1) / sets * sets;
    return {graph_of(launches), launches, estimate_us};
  }

  double time_us(const Graph& graph) {
    keep_launches_fast(bench_.stream);
    start_.record(bench_.stream);
    graph.launch(bench_.stream);
    end_.record(bench_.stream);
    bench_.stream.synchronize();
    return end_.us_since(start_);
  }

  /// Cycles of one launch, from a rested sample.
  double cycles_of(const Replay& replay) {
    rest(replay);
    stamps_.clear(bench_.stream);
    keep_launches_fast(bench_.stream);
    stamps_.record(0, bench_.stream);
    start_.record(bench_.stream);
    replay.graph.launch(bench_.stream);
    end_.record(bench_.stream);
    stamps_.record(1, bench_.stream);
    bench_.stream.synchronize();
    return end_.us_since(start_) / replay.launches * stamps_.mhz_between_pairs(1).front();
  }

  /// Records one launch right after a rested sample of the same kernel, so that neither its code
  /// nor its clock is cold. It reads the input set that was unused for the longest time.
  ProbeLaunch watch(const Replay& lead_in) {
    rest(lead_in);
    keep_launches_fast(bench_.stream);
    lead_in.graph.launch(bench_.stream);
    probed_.clear(bench_.stream);
    probed_.launch(0, bench_.stream.get());
    bench_.stream.synchronize();
    return probed_.read();
  }

  void rest(const Replay& replay) const {
    const double rest_ms = std::max(protocol::kFull.rest_ms, protocol::kRestRatio * replay.ms());
    announce("a sample", replay.ms() + rest_ms);
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(rest_ms));
  }

  void announce(const char* doing, double expected_ms) const {
    if (bench_.on_step) bench_.on_step({doing, request_.label, true, expected_ms});
  }

  const StudyRequest& request_;
  const Bench& bench_;
  TiledConfig config_;
  ProblemData data_;
  ProbedKernel probed_;
  std::unique_ptr<Candidate> plain_;
  ClockStamps stamps_;
  Event start_, end_;
};

}  // namespace

Study run_probe(const StudyRequest& request, const Cubin& cubin, const Bench& bench) {
  if (!request.problem) throw Error("a probe needs a problem");
  const KernelConfig config = parse_label(request.label);
  if (!is_probed(config)) {
    throw Error(request.label + " is not a probed build: its label does not end in .probe1");
  }
  Study study;
  study.kind = request.kind;
  study.label = request.label;
  study.problem = request.problem;
  const GemmProblem& problem = *request.problem;
  if (const char* reason = why_not(config, problem)) {
    study.status = Status::kInvalidConfig;
    study.message = reason;
    return study;
  }
  if (bench.on_step) bench.on_step({"making inputs", request.label, true, 0});
  ProbeBench(request, cubin, bench).run(study);
  return study;
}

}  // namespace hgemm
