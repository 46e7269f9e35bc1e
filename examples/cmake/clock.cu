#include "clock.h"

namespace {

struct Stamp {
  long long cycles;
  unsigned long long ns;
};

__global__ void note(Stamp* stamps, unsigned sms) {
  unsigned sm = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (threadIdx.x != 0 || sm >= sms) return;
  Stamp stamp{};
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(stamp.ns));
  stamp.cycles = clock64();
  stamps[sm] = stamp;
}

int multiprocessors() {
  int device = 0, sms = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device), "counting SMs");
  return sms;
}

}  // namespace

SmClock::SmClock(int samples, cudaStream_t stream)
    : sms_(multiprocessors()),
      samples_(samples),
      stamps_(static_cast<std::size_t>(2 * samples_ * sms_) * sizeof(Stamp)) {
  check(cudaMemsetAsync(stamps_.get(), 0,
                        static_cast<std::size_t>(2 * samples_ * sms_) * sizeof(Stamp), stream),
        "clearing clock stamps");
}

void SmClock::stamp(int slot, cudaStream_t stream) const {
  note<<<static_cast<unsigned>(sms_), 32, 0, stream>>>(
      static_cast<Stamp*>(stamps_.get()) + static_cast<std::ptrdiff_t>(slot) * sms_,
      static_cast<unsigned>(sms_));
  check(cudaGetLastError(), "reading the clock");
}

std::vector<double> SmClock::mhz() const {
  const auto sms = static_cast<std::size_t>(sms_);
  std::vector<Stamp> stamps(2 * static_cast<std::size_t>(samples_) * sms);
  check(cudaMemcpy(stamps.data(), stamps_.get(), stamps.size() * sizeof(Stamp),
                   cudaMemcpyDeviceToHost),
        "reading clock stamps");
  std::vector<double> mhz;
  for (std::size_t sample = 0; sample < static_cast<std::size_t>(samples_); ++sample) {
    const Stamp* const begin = &stamps[2 * sample * sms];
    const Stamp* const end = begin + sms;
    double sum = 0;
    int seen = 0;
    for (std::size_t sm = 0; sm < sms; ++sm) {
      if (begin[sm].ns == 0 || end[sm].ns <= begin[sm].ns) continue;  // no block ran there
      sum += static_cast<double>(end[sm].cycles - begin[sm].cycles) /
             static_cast<double>(end[sm].ns - begin[sm].ns) * 1e3;
      ++seen;
    }
    mhz.push_back(seen > 0 ? sum / seen : 0);
  }
  return mhz;
}
