// The SM clock during a sample, read by the SMs themselves. Before and after the sample, one block
// on each SM records its cycles (clock64) and the time (globaltimer). The differences give the mean
// clock without another library. A time multiplied by its clock is the cost of a kernel in cycles,
// which distinguishes a slower kernel from a slower clock.
//
// Usage:
//   clock.begin(sample, stream);     // outside of the events that time it
//   cudaEventRecord(start, stream);
//   ...
//   cudaEventRecord(stop, stream);
//   clock.end(sample, stream);
#pragma once

#include "common.h"

/// Allocates room for this number of samples.
class SmClock {
 public:
  SmClock(int samples, cudaStream_t stream);

  void begin(int sample, cudaStream_t stream) const { stamp(2 * sample, stream); }
  void end(int sample, cudaStream_t stream) const { stamp(2 * sample + 1, stream); }

  /// The clock in MHz for each sample, as the mean over SMs; 0 for a sample whose begin and end no
  /// SM recorded. All samples must have completed.
  std::vector<double> mhz() const;

 private:
  void stamp(int slot, cudaStream_t stream) const;

  int sms_, samples_;
  Memory stamps_;  ///< stamps of each SM, by slot
};
