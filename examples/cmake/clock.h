// The SM clock while a sample runs, read by the SMs themselves: before and after it one block on
// each SM notes its cycles (clock64) and the time (globaltimer). Their differences give the mean
// clock, with no other library. A time times its clock is what a kernel costs in cycles, which
// tells a slower kernel from a slower clock.
//
// Used as
//   clock.begin(sample, stream);     // outside of the events that time it
//   cudaEventRecord(start, stream);
//   ...
//   cudaEventRecord(stop, stream);
//   clock.end(sample, stream);
#pragma once

#include "common.h"

/// Room for as many samples.
class SmClock {
 public:
  SmClock(int samples, cudaStream_t stream);

  void begin(int sample, cudaStream_t stream) const { stamp(2 * sample, stream); }
  void end(int sample, cudaStream_t stream) const { stamp(2 * sample + 1, stream); }

  /// In MHz by sample, the mean over SMs; 0 for a sample that no SM saw begin and end. All must
  /// have run.
  std::vector<double> mhz() const;

 private:
  void stamp(int slot, cudaStream_t stream) const;

  int sms_, samples_;
  Memory stamps_;  ///< of each SM, by slot
};
