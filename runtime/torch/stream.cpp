#include "stream.h"

#include <limits>

#include "dynamic_library.h"

namespace hgemm_torch {

namespace {

/// The driver's header is not needed for some numbers: CUresult 0 is success, CUstreamCaptureStatus
/// 0 is none, and CU_STREAM_LEGACY and CU_STREAM_PER_THREAD are 1 and 2.
struct StreamFunctions {
  int (*is_capturing)(void* stream, int* status) = nullptr;
  int (*id)(void* stream, unsigned long long* id) = nullptr;
};
constexpr std::uintptr_t kLastSpecialHandle = 2;

/// torch with CUDA has loaded the driver.
const StreamFunctions& driver() {
  static const StreamFunctions found = [] {
    StreamFunctions functions;
    hgemm_runtime::DynamicLibrary library("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    library.find("cuStreamIsCapturing", functions.is_capturing);
    library.find("cuStreamGetId", functions.id);
    return functions;
  }();
  return found;
}

}  // namespace

bool is_capturing(void* stream) {
  if (stream == nullptr) return false;  // the default stream cannot be captured
  const auto ask = driver().is_capturing;
  int status = 0;
  return ask == nullptr || ask(stream, &status) != 0 || status != 0;
}

std::optional<std::uint64_t> id_of(void* stream) {
  // A device has one default stream, whose number the driver tells only where its context is
  // current.
  if (stream == nullptr) return std::numeric_limits<std::uint64_t>::max();
  const auto ask = driver().id;
  unsigned long long id = 0;
  if (ask == nullptr || ask(stream, &id) != 0) return std::nullopt;
  return id;
}

bool is_handle_of_one(void* stream) {
  return reinterpret_cast<std::uintptr_t>(stream) > kLastSpecialHandle;
}

}  // namespace hgemm_torch
