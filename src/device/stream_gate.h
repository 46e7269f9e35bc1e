// Holds a stream back until the host has enqueued all that follows.
#pragma once

#include "device/cuda.h"

namespace hgemm {

/// One thread on the GPU waits for a word in the host's memory. It waits for kLimitMs at most, so
/// that a host which waits for the GPU in the meantime is not blocked for ever.
class StreamGate {
 public:
  static constexpr double kLimitMs = 50;

  StreamGate();
  StreamGate(const StreamGate&) = delete;
  StreamGate& operator=(const StreamGate&) = delete;
  ~StreamGate();

  /// What is enqueued from now on waits for open(). All work behind an earlier gate has completed.
  void close(const Stream& stream);
  void open();
  /// Whether the last gate ended by its limit. Call it when the work behind it has completed.
  bool was_late() const;

 private:
  struct Words;
  Words* words_ = nullptr;  ///< in the host's memory, which the GPU reads and writes
};

}  // namespace hgemm
