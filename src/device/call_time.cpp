#include "device/call_time.h"

#include <cupti.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/statistics.h"
#include "device/cupti_library.h"

namespace hgemm {
namespace {

/// What CUPTI recorded since the last forget(). CUPTI's callbacks have no argument for the caller's
/// data, so this is the one place where they can write to.
struct Trace {
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  int kernels = 0;
  std::uint64_t first_start_ns = 0, last_end_ns = 0;

  void add(std::uint64_t start_ns, std::uint64_t end_ns) {
    first_start_ns = kernels == 0 ? start_ns : std::min(first_start_ns, start_ns);
    last_end_ns = std::max(last_end_ns, end_ns);
    ++kernels;
  }
  void forget() {
    kernels = 0;
    first_start_ns = last_end_ns = 0;
  }
};
Trace& trace() {
  static Trace one;
  return one;
}

constexpr std::size_t kBufferBytes = 64 << 10;
constexpr std::size_t kAlignment = 8;  // that CUPTI asks for

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;  // as many as there is room for
}

void CUPTIAPI take_buffer(CUcontext /*context*/, std::uint32_t /*stream*/, std::uint8_t* buffer,
                          std::size_t /*bytes*/, std::size_t valid_bytes) {
  CUpti_Activity* record = nullptr;
  while (valid_bytes > 0 && trace().next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    const auto* const kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
    trace().add(kernel->start, kernel->end);
  }
  std::free(buffer);
}

/// CUPTI's trace of kernels, while this object lives.
class KernelTrace {
 public:
  KernelTrace() {
    std::string why;
    void* const library = load_cupti(why);
    if (library == nullptr) return;
    decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
    decltype(&cuptiActivityEnable) enable = nullptr;
    const auto find = [library](const char* name, auto& function) {
      return find_function(library, name, reinterpret_cast<void**>(&function));
    };
    works_ = find("cuptiActivityRegisterCallbacks", register_callbacks) &&
             find("cuptiActivityEnable", enable) && find("cuptiActivityDisable", disable_) &&
             find("cuptiActivityFlushAll", flush_) &&
             find("cuptiActivityGetNextRecord", trace().next_record) &&
             register_callbacks(give_buffer, take_buffer) == CUPTI_SUCCESS &&
             enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS;
  }
  KernelTrace(const KernelTrace&) = delete;
  KernelTrace& operator=(const KernelTrace&) = delete;
  ~KernelTrace() {
    if (works_) disable_(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  }

  bool works() const { return works_; }
  /// What was recorded since the last call. All work has completed.
  Trace take() {
    flush_(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    const Trace taken = trace();
    trace().forget();
    return taken;
  }

 private:
  bool works_ = false;
  decltype(&cuptiActivityDisable) disable_ = nullptr;
  decltype(&cuptiActivityFlushAll) flush_ = nullptr;
};

}  // namespace

CallTime time_calls(int calls, bool traces, const TimedCall& timed) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> host_us, kernel_us;
  for (int i = 0; i < calls; ++i) {
    timed.rest();
    const Clock::time_point start = Clock::now();
    timed.call();
    const Clock::time_point end = Clock::now();
    timed.finish();
    host_us.push_back(std::chrono::duration<double, std::micro>(end - start).count());
  }
  CallTime time{.calls = calls, .host_us = median(host_us)};

  if (!traces) return time;
  KernelTrace kernels;
  if (!kernels.works()) return time;
  for (int i = 0; i < calls; ++i) {
    timed.rest();
    kernels.take();
    timed.call();
    timed.finish();
    const Trace one = kernels.take();
    if (one.kernels == 0) continue;
    time.kernels = one.kernels;
    kernel_us.push_back(static_cast<double>(one.last_end_ns - one.first_start_ns) * 1e-3);
  }
  if (!kernel_us.empty()) time.kernel_us = median(kernel_us);
  return time;
}

}  // namespace hgemm
