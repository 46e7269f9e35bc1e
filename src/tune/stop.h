// Stopping on request, between two steps. Private to the module.
#pragma once

#include <functional>

namespace hgemm {

/// Thrown when `stop` returned true.
struct Stopped {};

inline void poll_stop(const std::function<bool()>& stop) {
  if (stop && stop()) throw Stopped();
}

}  // namespace hgemm
