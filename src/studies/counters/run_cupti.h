// Hardware counters of what runs in this process, by CUPTI's range profiler. libcupti is loaded
// when it is asked for: the program starts and tunes without it.
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

/// No counter can be read here. what() begins with kCountersUnavailable (counter_set.h) and
/// says why and what to do. An InputError: no study's fault, and the same for all (worker/bench.h).
class CountersUnavailable : public InputError {
 public:
  CountersUnavailable(std::string reason, std::string advice);
  std::string reason;
  std::string advice;
};

class Cupti {
 public:
  /// Looks for libcupti where the loader does, then in the usual places of a toolkit. Throws
  /// CountersUnavailable.
  Cupti();
  Cupti(const Cupti&) = delete;
  Cupti& operator=(const Cupti&) = delete;
  ~Cupti();

  std::uint32_t version() const;  ///< CUPTI_API_VERSION of the library, e.g. 130001

  /// Launches that it takes to read `metrics` (names of CUPTI) on a chip such as "GH100"; needs no
  /// GPU. Throws Error naming a metric that the chip does not have.
  int passes(const std::string& chip, std::span<const std::string> metrics) const;

  /// Throws CountersUnavailable unless the current context may be profiled. Counts nothing.
  void check_access() const;

  /// The values of `metrics` over one `launch`, which enqueues and waits. The current context is
  /// profiled. `launch` is called once for each pass, `prepare` before each, outside of what is
  /// counted. What they throw goes through.
  ///
  /// The range is replayed by us and not by CUPTI: kernel replay saves and restores memory between
  /// passes, and so each pass would find another state of the L2. The clocks are what they are.
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

/// Whether `hgemm-tune counters` works here, for `doctor`. Profiles the current context, if any.
Finding check_counters();

}  // namespace hgemm
