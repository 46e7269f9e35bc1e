#include "device/clock_stamp.h"

namespace hgemm {
namespace {

struct SmStamp {
  long long cycles;
  unsigned long long ns;
};

__global__ void stamp_kernel(SmStamp* stamps, unsigned sm_count) {
  unsigned sm = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (threadIdx.x != 0 || sm >= sm_count) return;
  SmStamp stamp{};
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(stamp.ns));
  stamp.cycles = clock64();
  stamps[sm] = stamp;
}

}  // namespace

ClockStamps::ClockStamps(int sm_count, int capacity)
    : sm_count_(sm_count),
      capacity_(capacity),
      stamps_(sizeof(SmStamp) * static_cast<std::size_t>(sm_count) *
              static_cast<std::size_t>(capacity)) {}

void ClockStamps::clear(const Stream& stream) const {
  check(cudaMemsetAsync(stamps_.data(), 0, stamps_.bytes(), stream.get()), "clearing clock stamps");
}

void ClockStamps::record(int slot, const Stream& stream) const {
  if (slot >= capacity_) throw Error("more clock stamps than there is room for");
  stamp_kernel<<<static_cast<unsigned>(sm_count_), 32, 0, stream.get()>>>(
      stamps_.as<SmStamp>() + static_cast<std::size_t>(slot) * static_cast<std::size_t>(sm_count_),
      static_cast<unsigned>(sm_count_));
  check(cudaGetLastError(), "stamping the clock");
}

std::vector<double> ClockStamps::mhz_between_pairs(int pairs) const {
  const auto sms = static_cast<std::size_t>(sm_count_);
  std::vector<SmStamp> stamps(2 * static_cast<std::size_t>(pairs) * sms);
  check(cudaMemcpy(stamps.data(), stamps_.data(), stamps.size() * sizeof(SmStamp),
                   cudaMemcpyDeviceToHost),
        "reading clock stamps");
  std::vector<double> mhz;
  for (std::size_t pair = 0; pair < static_cast<std::size_t>(pairs); ++pair) {
    const SmStamp* const before = &stamps[2 * pair * sms];
    const SmStamp* const after = before + sms;
    double sum = 0;
    int seen = 0;
    for (std::size_t sm = 0; sm < sms; ++sm) {
      if (before[sm].ns == 0 || after[sm].ns <= before[sm].ns) continue;  // no block ran on this SM
      sum += static_cast<double>(after[sm].cycles - before[sm].cycles) /
             static_cast<double>(after[sm].ns - before[sm].ns) * 1e3;
      ++seen;
    }
    mhz.push_back(seen > 0 ? sum / seen : 0.0);
  }
  return mhz;
}

}  // namespace hgemm
