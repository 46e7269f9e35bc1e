#include "device/stream_gate.h"

namespace hgemm {

struct StreamGate::Words {
  volatile int is_open;
  volatile int was_late;
};

namespace {

__global__ void wait_for_host(volatile int* is_open, volatile int* was_late,
                              unsigned long long limit_ns) {
  const auto now_ns = [] {
    unsigned long long ns = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
  };
  const unsigned long long start_ns = now_ns();
  while (*is_open == 0) {
    if (now_ns() - start_ns > limit_ns) {
      *was_late = 1;
      return;
    }
    __nanosleep(200);
  }
}

}  // namespace

StreamGate::StreamGate() {
  check(cudaHostAlloc(reinterpret_cast<void**>(&words_), sizeof(Words), cudaHostAllocMapped),
        "allocating a gate");
  words_->is_open = 1;
  words_->was_late = 0;
}

StreamGate::~StreamGate() {
  if (words_ == nullptr) return;
  words_->is_open = 1;
  cudaFreeHost(words_);
}

void StreamGate::close(const Stream& stream) {
  words_->is_open = 0;
  words_->was_late = 0;
  constexpr auto kLimitNs = static_cast<unsigned long long>(kLimitMs * 1e6);
  wait_for_host<<<1, 1, 0, stream.get()>>>(&words_->is_open, &words_->was_late, kLimitNs);
  check(cudaGetLastError(), "closing a gate");
}

void StreamGate::open() { words_->is_open = 1; }

bool StreamGate::was_late() const { return words_->was_late != 0; }

}  // namespace hgemm
