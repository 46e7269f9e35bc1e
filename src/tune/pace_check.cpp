#include "tune/pace_check.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/statistics.h"
#include "families/family.h"
#include "gemm/codec.h"

namespace hgemm {
namespace {

/// Rounds of each condition: enough for an interval of some tenths of a percent.
constexpr std::size_t kRounds = 15;

/// Brings the GPU to full load and returns the pace of its finals there.
Pace settle_for_final(Measurer& measurer) {
  if (measurer.settle(Pace::kOwn).power_capped) return Pace::kOwn;
  return Pace::kShared;  // which needs the same state
}

/// How many of the neighbours are at full load, and how long they must stay there.
struct Load {
  std::atomic<bool> wanted = false, over = false;
  std::atomic<int> running = 0, failed = 0;
};

/// Ends the load when it goes out of scope, also by an exception.
struct LoadEnd {
  Load& load;
  ~LoadEnd() { load.over = true; }
};

class PaceCheck {
 public:
  PaceCheck(Gpus& gpus, const GemmProblem& problem, Build build)
      : gpus_(gpus), problem_(problem), build_(std::move(build)) {}

  PaceFinding run() {
    gpus_.threads.run(
        [this](std::size_t gpu) { gpu == 0 ? measure() : keep_busy(gpus_.contexts[gpu]); },
        [this] { load_.over = true; });
    return finding_;
  }

 private:
  void poll() {
    gpus_.shared.use([](SharedTune& tune) { tune.poll(); });
  }

  void measure() {
    const LoadEnd end{load_};
    Measurer& measurer = gpus_.contexts.front().measurer;
    finding_.problem = problem_;
    finding_.label = label(config_of(build_.kernel));
    measurer.open(problem_, {.seed = gpus_.plan.policy.seed});
    const Prepared prepared = measurer.prepare(build_);
    if (prepared.status != Status::kOk) throw GpuLost(prepared.message);
    finding_.alone = ratio(measurer);
    load_.wanted = true;
    const int neighbours = static_cast<int>(gpus_.contexts.size()) - 1;
    while (load_.running + load_.failed < neighbours) {
      poll();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    finding_.neighbours = load_.running;
    finding_.beside = ratio(measurer);
  }

  /// The ratio of cublas to the config, round by round.
  PaceFinding::Value ratio(Measurer& measurer) {
    const std::vector<std::string> labels = {finding_.label, std::string(kCublasLabel)};
    const Pace pace = settle_for_final(measurer);
    std::vector<double> ratios;
    while (ratios.size() < kRounds) {
      poll();
      for (const std::vector<Sample>& round : measurer.rounds(labels, pace)) {
        ratios.push_back(round[1].time_us / round[0].time_us);
      }
    }
    return {median(ratios), median_interval(ratios)};
  }

  /// A neighbour that fails counts as idle.
  void keep_busy(GpuContext& gpu) {
    while (!load_.wanted && !load_.over) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (load_.over) return;
    bool counted = false;
    try {
      gpu.measurer.open(problem_, {.seed = gpus_.plan.policy.seed});
      const std::vector<std::string> labels = {std::string(kCublasLabel)};
      const Pace pace = settle_for_final(gpu.measurer);
      ++load_.running;
      counted = true;
      while (!load_.over) gpu.measurer.rounds(labels, pace);
    } catch (const MeasurerLost&) {
      if (!counted) ++load_.failed;
    } catch (const InputError&) {  // not enough memory is free there
      if (!counted) ++load_.failed;
    }
  }

  Gpus& gpus_;
  GemmProblem problem_;
  Build build_;
  Load load_;
  PaceFinding finding_;
};

Study study_of(const PaceFinding& finding, const Build& build) {
  Study study;
  study.kind = "pace";
  study.label = finding.label;
  study.problem = finding.problem;
  study.kernel_id = build.facts.kernel_id;
  const auto add = [&](const char* point, const PaceFinding::Value& ratio) {
    study.figures.push_back({.point = point,
                             .metric = "ratio_cublas",
                             .unit = "x",
                             .value = ratio.value,
                             .low = ratio.interval.low,
                             .high = ratio.interval.high,
                             .samples = static_cast<std::int64_t>(kRounds)});
  };
  add("alone", finding.alone);
  add("beside", finding.beside);
  const double neighbours = finding.neighbours;
  study.figures.push_back({.point = "beside",
                           .metric = "busy_neighbours",
                           .unit = "GPUs",
                           .value = neighbours,
                           .low = neighbours,
                           .high = neighbours,
                           .samples = 1});
  return study;
}

}  // namespace

std::optional<PaceFinding> check_pace(Gpus& gpus, const Missing& race, const Compiler& compiler) {
  const auto give_up = [&](const std::string& reason) -> std::optional<PaceFinding> {
    gpus.contexts.front().tell([&](TuneListener& listener) {
      listener.warning(fmt::format("the pace check measured nothing: {}", reason));
    });
    return std::nullopt;
  };
  const auto able = std::ranges::find_if(
      race.configs, [&](const KernelConfig& config) { return !why_not(config, race.problem); });
  if (able == race.configs.end()) return give_up("no config can compute the shape");
  const std::vector<Kernel> kernels = {kernel_for(*able, race.problem)};
  Build build;
  compiler.compile_all(kernels, gpus.plan.compile, [&](Build one) { build = std::move(one); });
  if (build.status != Status::kOk) return give_up(build.message);
  PaceFinding finding;
  try {
    finding = PaceCheck(gpus, race.problem, build).run();
  } catch (const MeasurerLost& loss) {
    return give_up(loss.what());
  } catch (const GpuLost& loss) {
    return give_up(loss.what());
  }
  GpuContext& first = gpus.contexts.front();
  gpus.shared.use([&](SharedTune& tune) {
    tune.store.record_build(build.facts);
    tune.kernels.add(build.facts);
    if (first.run == 0) {
      first.run = tune.store.begin_run(first.machine, gpus.plan.command_line);
    }
    tune.store.record_study(first.run, study_of(finding, build));
  });
  return finding;
}

}  // namespace hgemm
