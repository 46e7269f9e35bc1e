// Stopping on request. SIGINT and SIGTERM are blocked and asked for, not handled: the driver stops
// between two steps, with everything that it finished committed.
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

  /// The signal that asked to stop, once one has. From then on a second one ends the program at
  /// once.
  std::optional<int> received();

 private:
  sigset_t signals_;
  sigset_t previous_mask_;
  std::optional<int> received_;
};

}  // namespace hgemm::cli
