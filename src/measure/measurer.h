// What the tune driver needs of a GPU. Implemented by the worker process (worker/remote.h) and by
// a fake in the tests, so that racing, recording and resuming are tested with no GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "trial/trial.h"

namespace hgemm {

/// The outcome of making a candidate ready at a shape: loaded, run once, compared.
struct Prepared {
  Status status = Status::kOk;
  std::string message;
  Verdict verdict;
  double estimate_us = 0;  ///< one launch, from a short timing after verification
};

/// The measurer was lost (killed, crashed, hung) while it held this shape open; a new call to
/// open() starts afresh. `status` is kTimedOut or kCrashed.
class MeasurerLost : public std::runtime_error {
 public:
  MeasurerLost(Status status, const std::string& what) : std::runtime_error(what), status(status) {}
  Status status;
};

/// One shape is open at a time. Every call may throw MeasurerLost; Error where the GPU cannot be
/// used or a label was not prepared.
class Measurer {
 public:
  virtual ~Measurer() = default;

  virtual Environment environment() = 0;

  struct Opened {
    std::vector<std::string> baselines;  ///< labels, ready to be timed: cublas, cublaslt.0, ...
    std::vector<Prepared> prepared;      ///< one per baseline (message names the algorithm)
  };
  /// Allocates and fills inputs (fresh data from `seed`), computes the reference, prepares the
  /// baselines. Closes the shape that was open. Throws InputError if the shape does not fit.
  virtual Opened open(const Shape& shape, std::uint64_t seed) = 0;

  virtual Prepared prepare(const Build& build) = 0;
  virtual void forget(const std::string& label) = 0;  ///< frees a candidate that lost

  /// Brings the GPU into the regime: full load until the clock's trend is flat. Call before rounds.
  virtual void settle(Regime regime) = 0;

  /// Times one batch of each label, in this order, back to back.
  virtual std::vector<Sample> round(std::span<const std::string> labels) = 0;
};

}  // namespace hgemm
