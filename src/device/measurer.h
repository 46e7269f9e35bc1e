// The GPU as the tune driver sees it. Implemented by the worker process (worker/remote.h), and by a
// fake in the tests, so that racing, recording and resuming are tested without a GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "compile/compiler.h"
#include "record/environment.h"
#include "record/trial.h"

namespace hgemm {

/// How long a problem is measured; see "EFFORT" in device/protocol.h.
enum class Effort : std::uint8_t { kFull, kBrief };

/// How a problem is opened.
struct Opening {
  std::uint64_t seed = 0;              ///< of the inputs
  std::set<std::string> without = {};  ///< baselines that are neither launched nor listed
  Effort effort = Effort::kFull;
  Regime regime = Regime::kSustained;  ///< kChain: elementwise kernels around each launch
};

/// Result of preparing a candidate at a problem: it was loaded, run once and compared.
struct Prepared {
  Status status = Status::kOk;
  std::string message;
  Verdict verdict;
  double estimate_us = 0;  ///< time of one launch, from a short timing after verification
};

/// The measurer was lost (killed, crashed, hung) while this problem was open; the next call of
/// open() starts a new one. `status` is kTimedOut or kCrashed. `culprit` is the label that was
/// running alone at that time; empty if several were enqueued, or none.
class MeasurerLost : public std::runtime_error {
 public:
  MeasurerLost(Status status, const std::string& what, std::string culprit = {})
      : std::runtime_error(what), status(status), culprit(std::move(culprit)) {}
  Status status;
  std::string culprit;
};

/// Measures candidates at one problem at a time. Every call may throw MeasurerLost, or Error if the
/// GPU cannot be used or a label was not prepared.
class Measurer {
 public:
  virtual ~Measurer() = default;

  virtual Machine machine() = 0;

  struct Opened {
    std::vector<std::string>
        baselines;                   ///< labels, ready to be timed: cublas, cublaslt.0, ..., peers
    std::vector<Prepared> prepared;  ///< one per baseline (message says which algorithm)
    Timing timing;                   ///< how all samples at this problem are launched
  };
  /// Opens a problem: allocates and fills inputs, computes the reference, and prepares the
  /// baselines. Closes the problem that was open. Throws InputError if the problem does not fit in
  /// memory. If this call loses the measurer, the culprit may be a baseline.
  virtual Opened open(const GemmProblem& problem, const Opening& opening) = 0;

  /// Loads a config, runs it once on poisoned output, compares the output and estimates its time.
  virtual Prepared prepare(const Build& build) = 0;
  /// Loads a config again, after the measurer was lost, that prepare() found correct at this
  /// problem with this seed; `estimate_us` is the estimate that prepare() returned.
  virtual Prepared restore(const Build& build, double estimate_us) = 0;
  virtual void forget(const std::string& label) = 0;  ///< frees a candidate that left the race

  /// State of the GPU at full load.
  struct Settled {
    bool power_capped = false;
  };
  /// Brings the GPU into the state that samples of this pace need. Call it before rounds(), and
  /// again after each change of pace.
  virtual Settled settle(Pace pace) = 0;

  /// Takes samples of each label; the result is [round][label], labels in the given order. At the
  /// own pace the time of a label is split into several samples, each in a round of its own.
  virtual std::vector<std::vector<Sample>> rounds(std::span<const std::string> labels,
                                                  Pace pace) = 0;

  /// Runs one label alone at full load for at least protocol::kEnergyWindowMs. None if this GPU has
  /// no energy counter, or if the counter does not advance.
  virtual std::optional<Energy> energy(const std::string& label) = 0;

  /// Calls a label from the host some times on an idle GPU, at full effort under CUPTI too. Take no
  /// samples at this problem afterwards: the tracing of kernels slows launches down.
  virtual CallTime calls(const std::string& label) = 0;
};

}  // namespace hgemm
