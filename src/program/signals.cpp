#include "program/signals.h"

#include <ctime>

namespace hgemm::cli {
namespace {

sigset_t stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

StopSignals::StopSignals() : signals_(stop_signals()) {
  pthread_sigmask(SIG_BLOCK, &signals_, &previous_mask_);
}

StopSignals::~StopSignals() { pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr); }

std::optional<int> StopSignals::received() {
  if (!received_) {
    const timespec no_wait{};
    const int signal = sigtimedwait(&signals_, nullptr, &no_wait);
    if (signal > 0) {
      received_ = signal;
      pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr);
    }
  }
  return received_;
}

}  // namespace hgemm::cli
