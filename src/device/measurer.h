// What the tune driver needs of a GPU. Implemented by the worker process (worker/remote.h) and by
// a fake in the tests, so that racing, recording and resuming are tested with no GPU.
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

/// How long a problem is measured: device/protocol.h.
enum class Effort : std::uint8_t { kFull, kBrief };

/// The outcome of making a candidate ready at a problem: loaded, run once, compared.
struct Prepared {
  Status status = Status::kOk;
  std::string message;
  Verdict verdict;
  double estimate_us = 0;  ///< one launch, from a short timing after verification
};

/// The measurer was lost (killed, crashed, hung) while it held this problem open; a new call to
/// open() starts afresh. `status` is kTimedOut or kCrashed. `culprit` is the label that was running
/// alone when it happened; empty where several were enqueued, or none.
class MeasurerLost : public std::runtime_error {
 public:
  MeasurerLost(Status status, const std::string& what, std::string culprit = {})
      : std::runtime_error(what), status(status), culprit(std::move(culprit)) {}
  Status status;
  std::string culprit;
};

/// One problem is open at a time. Every call may throw MeasurerLost; Error where the GPU cannot be
/// used or a label was not prepared.
class Measurer {
 public:
  virtual ~Measurer() = default;

  virtual Machine machine() = 0;

  struct Opened {
    std::vector<std::string> baselines;  ///< labels, ready to be timed: cublas, cublaslt.0, ...
    std::vector<Prepared> prepared;      ///< one per baseline (message names the algorithm)
    Timing timing;                       ///< of all samples at this problem
  };
  /// Allocates and fills inputs (fresh data from `seed`), computes the reference, prepares the
  /// baselines but those `without`: they are neither launched nor listed. Closes the problem that
  /// was open. Throws InputError if the problem does not fit. A loss may have a baseline as its
  /// culprit.
  virtual Opened open(const GemmProblem& problem, std::uint64_t seed,
                      const std::set<std::string>& without = {}, Effort effort = Effort::kFull) = 0;

  /// Loads a config, runs it once on poisoned output, compares, estimates its time.
  virtual Prepared prepare(const Build& build) = 0;
  /// Loads again, in a measurer that was lost meanwhile, what prepare() found correct at this
  /// problem and with this seed; `estimate_us` is what it said.
  virtual Prepared restore(const Build& build, double estimate_us) = 0;
  virtual void forget(const std::string& label) = 0;  ///< frees a candidate that lost

  /// What the GPU was found to do at full load.
  struct Settled {
    bool power_capped = false;
  };
  /// Brings the GPU into the state that samples of this pace need. Call before rounds, and whenever
  /// the pace changes.
  virtual Settled settle(Pace pace) = 0;

  /// Samples of each label, in this order. At the own pace a label's time is split into several
  /// samples, each in a round of its own: [round][label].
  virtual std::vector<std::vector<Sample>> rounds(std::span<const std::string> labels,
                                                  Pace pace) = 0;

  /// Runs one label alone at full load for protocol::kEnergyWindowS or longer. None if this GPU has
  /// no energy counter, or one that stands still.
  virtual std::optional<Energy> energy(const std::string& label) = 0;
};

}  // namespace hgemm
