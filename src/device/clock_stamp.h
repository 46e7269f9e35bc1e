// Reading the SM clock in band: one block per SM notes clock64 and globaltimer.
#pragma once

#include <vector>

#include "device/cuda.h"

namespace hgemm {

/// Room for `capacity` stamps of all SMs.
class ClockStamps {
 public:
  ClockStamps(int sm_count, int capacity);

  int capacity() const { return capacity_; }

  /// Enqueues the forgetting of all stamps.
  void clear(const Stream& stream) const;

  /// Enqueues a stamp into `slot`.
  void record(int slot, const Stream& stream) const;

  /// Mean SM clock in MHz between two stamps, over the SMs that were seen in both; 0 if none was.
  /// All work must have completed.
  std::vector<double> mhz_between_pairs(int pairs) const;  ///< slots (0, 1), (2, 3), ...

 private:
  int sm_count_;
  int capacity_;
  DeviceMemory stamps_;
};

}  // namespace hgemm
