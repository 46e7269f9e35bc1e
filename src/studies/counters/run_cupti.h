// Reads hardware counters in this process with CUPTI's range profiler. libcupti is loaded on first
// use: the program starts and tunes without it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/findings.h"

namespace hgemm {

/// No counter can be read here. what() begins with kCountersUnavailable (counter_set.h) and gives
/// the reason and a remedy. It is an InputError, because it is not the fault of one study and
/// affects all (worker/bench.h).
class CountersUnavailable : public InputError {
 public:
  CountersUnavailable(std::string reason, std::string advice);
  std::string reason;
  std::string advice;
};

class Cupti {
 public:
  /// Looks for libcupti as the loader does, then in the usual folders of a toolkit. Throws
  /// CountersUnavailable.
  Cupti();
  Cupti(const Cupti&) = delete;
  Cupti& operator=(const Cupti&) = delete;
  ~Cupti();

  std::uint32_t version() const;  ///< CUPTI_API_VERSION of the library, e.g. 130001

  /// Number of launches needed to read `metrics` (CUPTI names) on a chip such as "GH100"; needs no
  /// GPU. Throws Error that names a metric that the chip does not have.
  int passes(const std::string& chip, std::span<const std::string> metrics) const;

  /// Throws CountersUnavailable unless the current context may be profiled. Counts nothing.
  void check_access() const;

  /// The values of `metrics` over one `launch`, which must enqueue work and wait for it. It
  /// profiles the current context. `launch` is called once for each pass; `prepare` is called
  /// before each and is not counted. Exceptions of both are passed on.
  ///
  /// The range is replayed here and not by CUPTI, because kernel replay saves and restores memory
  /// between passes, and each pass would then find another state of the L2. Clocks are not fixed.
  std::vector<double> measure(std::span<const std::string> metrics,
                              const std::function<void()>& prepare,
                              const std::function<void()>& launch) const;

 private:
  struct Api;
  class Started;
  class Host;
  class Profiler;
  std::unique_ptr<const Api> api_;
};

/// Checks for `doctor` whether `hgemm-tune counters` works here. Profiles the current context, if
/// there is one.
Finding check_counters();

}  // namespace hgemm
