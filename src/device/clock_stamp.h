// Reads the SM clock in band: one block per SM notes clock64 and globaltimer.
#pragma once

#include <vector>

#include "device/cuda.h"

namespace hgemm {

/// Holds up to `capacity` time stamps of each SM.
class ClockStamps {
 public:
  ClockStamps(int sm_count, int capacity);

  int capacity() const { return capacity_; }

  /// Enqueues a kernel that clears all stamps.
  void clear(const Stream& stream) const;

  /// Enqueues a kernel that writes stamp `slot` (0 to capacity - 1).
  void record(int slot, const Stream& stream) const;

  /// Mean SM clock in MHz between the stamps of each pair of slots, over the SMs that ran both
  /// stamps; 0 if no SM did. All enqueued work must have completed.
  std::vector<double> mhz_between_pairs(int pairs) const;  ///< slots (0, 1), (2, 3), ...

 private:
  int sm_count_;
  int capacity_;
  DeviceMemory stamps_;
};

}  // namespace hgemm
