#include "tune/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "tune/stop.h"

namespace hgemm {
namespace {

using Winner = VerifyPlan::Winner;

/// The winners at one problem, which share its inputs and reference.
struct ProblemWinners {
  GemmProblem problem;
  std::vector<Winner> winners;
};

std::vector<ProblemWinners> by_problem(const std::vector<Winner>& winners) {
  std::vector<ProblemWinners> all;
  for (const Winner& winner : winners) {
    const auto known = std::ranges::find_if(all, [&](const ProblemWinners& other) {
      return other.problem.same_problem(winner.problem);
    });
    if (known != all.end()) {
      known->winners.push_back(winner);
    } else {
      all.push_back({winner.problem, {winner}});
    }
  }
  return all;
}

class Verifier {
 public:
  Verifier(const VerifyPlan& plan, Measurer& measurer, Store& store,
           const std::function<void(const Recheck&)>& done,
           const std::function<void(const std::string&)>& warn, const std::function<bool()>& stop)
      : plan_(plan), measurer_(measurer), store_(store), done_(done), warn_(warn), stop_(stop) {}

  void compile(const Compiler& compiler) {
    std::set<std::string> names;
    std::vector<Kernel> kernels;
    for (const Winner& winner : plan_.winners) {
      const Kernel kernel = kernel_of(winner);
      if (names.insert(build_name(kernel)).second) kernels.push_back(kernel);
    }
    compiler.compile_all(kernels, plan_.compile, [this](Build build) {
      poll_stop();
      builds_.insert_or_assign(build_name(build.kernel), std::move(build));
    });
  }

  void check(const ProblemWinners& at) {
    std::set<const Winner*> failed;
    bad_baselines_.clear();
    for (const std::uint64_t seed : plan_.seeds) {
      opened_.reset();
      for (const Winner& winner : at.winners) {
        if (failed.contains(&winner)) continue;
        poll_stop();
        try {
          open(at.problem, seed);
        } catch (const InputError& error) {
          warn_(fmt::format("{} is left out: {}", to_string(at.problem), error.what()));
          return;
        }
        const Prepared outcome = run(build_of(winner));
        if (outcome.status != Status::kOk) {
          failed.insert(&winner);
          record_failure(winner, outcome);
        }
        done_({winner, seed, outcome});
      }
    }
  }

 private:
  static Kernel kernel_of(const Winner& winner) {
    return kernel_for(parse_label(winner.label), winner.problem);
  }
  const Build& build_of(const Winner& winner) const {
    return builds_.at(build_name(kernel_of(winner)));
  }

  void poll_stop() const { hgemm::poll_stop(stop_); }

  /// Opens the problem with these inputs, unless it is open. A cuBLASLt algorithm that takes the
  /// measurer down is left out, because verification does not need it.
  void open(const GemmProblem& problem, std::uint64_t seed) {
    for (int losses = 0; !opened_;) {
      try {
        opened_ = measurer_.open(problem, {.seed = seed, .without = bad_baselines_});
      } catch (const MeasurerLost& loss) {
        if (is_cublaslt(loss.culprit) && bad_baselines_.insert(loss.culprit).second) continue;
        if (++losses < 2) continue;
        throw Error(fmt::format(
            "the GPU worker was lost twice in a row while it opened {}: {}; failures until then "
            "are recorded. Check the GPU with `hgemm-tune doctor`, then run the same command again",
            to_string(problem), loss.what()));
      }
      timing_ = opened_->timing;
    }
  }

  Prepared run(const Build& build) {
    Prepared outcome;
    outcome.status = build.status;
    outcome.message = build.message;
    if (build.status != Status::kOk) return outcome;
    try {
      outcome = measurer_.prepare(build);
    } catch (const MeasurerLost& loss) {
      outcome.status = loss.status;
      outcome.message = loss.what();
      opened_.reset();
      return outcome;
    }
    try {
      measurer_.forget(label(config_of(build.kernel)));
    } catch (const MeasurerLost&) {  // not the config's fault: its run had ended
      opened_.reset();
    }
    return outcome;
  }

  void record_failure(const Winner& winner, const Prepared& outcome) {
    if (!run_) run_ = store_.begin_run(machine_, plan_.command_line);
    const std::int64_t race = store_.begin_race(*run_, winner.problem, winner.regime, timing_);
    Trial trial;
    trial.label = winner.label;
    trial.kernel_id = build_of(winner).facts.identity();
    trial.status = outcome.status;
    trial.message = outcome.message;
    trial.verdict = outcome.verdict;
    store_.record(race, {&trial, 1});
  }

  const VerifyPlan& plan_;
  Measurer& measurer_;
  Store& store_;
  const std::function<void(const Recheck&)>& done_;
  const std::function<void(const std::string&)>& warn_;
  const std::function<bool()>& stop_;
  const Machine machine_ = measurer_.machine();
  std::map<std::string, Build> builds_;     ///< by build_name()
  std::optional<Measurer::Opened> opened_;  ///< none: no problem is open, or one with other inputs
  Timing timing_;                           ///< of the last opened problem
  std::set<std::string> bad_baselines_;     ///< at this problem
  std::optional<std::int64_t> run_;
};

}  // namespace

void verify(const VerifyPlan& plan, Measurer& measurer, Store& store, const Compiler& compiler,
            const std::function<void(const Recheck&)>& done,
            const std::function<void(const std::string&)>& warn,
            const std::function<bool()>& stop) {
  Verifier verifier(plan, measurer, store, done, warn, stop);
  try {
    verifier.compile(compiler);
    for (const ProblemWinners& at : by_problem(plan.winners)) verifier.check(at);
  } catch (const Stopped&) {
  }
}

}  // namespace hgemm
