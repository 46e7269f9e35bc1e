// Stopping on request. SIGINT and SIGTERM are blocked and polled, not handled. The driver stops
// between two steps; everything that it finished is committed.
#pragma once

#include <csignal>
#include <optional>

namespace hgemm::cli {

class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The signal that asked to stop, or nullopt. After the first signal, a second one ends the
  /// program at once.
  std::optional<int> received();

 private:
  sigset_t signals_;
  sigset_t previous_mask_;
  std::optional<int> received_;
};

}  // namespace hgemm::cli
