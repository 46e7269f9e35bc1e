#include "tests/runtime/fake_driver.h"

#include <cuda.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "kernels/common/params.h"

namespace {

using namespace hgemm::test;

std::mutex mutex;
std::set<std::string> names;  // what a handle points to
int the_context = 0;

template <class Handle>
Handle handle_of(const std::string& name) {
  return reinterpret_cast<Handle>(const_cast<std::string*>(&*names.insert(name).first));
}
std::string name_of(const void* handle) { return *static_cast<const std::string*>(handle); }
CUcontext context() { return reinterpret_cast<CUcontext>(&the_context); }

/// The address that a map of this driver begins with.
const void* address_in(const hgemm::TensorMap& map) {
  const void* address = nullptr;
  std::memcpy(&address, &map, sizeof address);
  return address;
}

}  // namespace

hgemm::test::FakeDriver& hgemm::test::fake_driver() {
  static FakeDriver driver;
  return driver;
}

#define FAKE(...) extern "C" __attribute__((visibility("default"))) CUresult __VA_ARGS__

FAKE(cuInit(unsigned)) { return CUDA_SUCCESS; }
FAKE(cuDriverGetVersion(int* version)) {
  *version = fake_driver().driver_cuda;
  return CUDA_SUCCESS;
}
FAKE(cuDeviceGet(CUdevice* device, int ordinal)) {
  *device = ordinal;
  return ordinal < 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
FAKE(cuDeviceGetName(char* name, int length, CUdevice)) {
  std::strncpy(name, fake_driver().gpu_name.c_str(), static_cast<std::size_t>(length));
  return CUDA_SUCCESS;
}
FAKE(cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice)) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = 0;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 132;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}
FAKE(cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice)) {
  ++fake_driver().contexts;
  *out = context();
  return CUDA_SUCCESS;
}
FAKE(cuDevicePrimaryCtxRelease_v2(CUdevice)) {
  --fake_driver().contexts;
  return CUDA_SUCCESS;
}
FAKE(cuCtxGetCurrent(CUcontext* out)) {
  *out = nullptr;
  return CUDA_SUCCESS;
}
thread_local int pushed_here = 0;  // contexts of this thread
FAKE(cuCtxPushCurrent_v2(CUcontext)) {
  ++pushed_here;
  const std::lock_guard lock(mutex);
  ++fake_driver().pushed;
  return CUDA_SUCCESS;
}
FAKE(cuCtxPopCurrent_v2(CUcontext*)) {
  --pushed_here;
  const std::lock_guard lock(mutex);
  --fake_driver().pushed;
  return CUDA_SUCCESS;
}
FAKE(cuCtxGetId(CUcontext, unsigned long long* id)) {
  *id = fake_driver().context_id;
  return CUDA_SUCCESS;
}
/// Its code is "\x7fELF " and the name of its kernel.
FAKE(cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                       CUlibraryOption*, void**, unsigned)) {
  if (std::memcmp(code,
                  "\x7f"
                  "ELF ",
                  5) != 0)
    return CUDA_ERROR_INVALID_IMAGE;
  ++fake_driver().libraries;
  *library = handle_of<CUlibrary>(static_cast<const char*>(code) + 5);
  return CUDA_SUCCESS;
}
FAKE(cuLibraryUnload(CUlibrary)) {
  --fake_driver().libraries;
  return CUDA_SUCCESS;
}
FAKE(cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name)) {
  const std::string of_library = name_of(library);
  if (of_library != name && of_library + "_rows" != name) return CUDA_ERROR_NOT_FOUND;
  *kernel = handle_of<CUkernel>(name);
  return CUDA_SUCCESS;
}
FAKE(cuKernelSetAttribute(CUfunction_attribute attribute, int bytes, CUkernel, CUdevice)) {
  return attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && bytes > 0
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}
FAKE(cuKernelGetFunction(CUfunction* function, CUkernel kernel)) {
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}
FAKE(cuFuncLoad(CUfunction function)) {
  fake_driver().loaded.push_back(name_of(function));
  return CUDA_SUCCESS;
}
FAKE(cuOccupancyMaxActiveClusters(int* clusters, CUfunction, const CUlaunchConfig*)) {
  *clusters = 66;
  return CUDA_SUCCESS;
}
FAKE(cuOccupancyMaxActiveBlocksPerMultiprocessor(int* ctas, CUfunction, int, std::size_t)) {
  *ctas = 4;
  return CUDA_SUCCESS;
}
FAKE(cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, cuuint32_t, void* address,
                            const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
                            const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                            CUtensorMapL2promotion, CUtensorMapFloatOOBfill)) {
  // As the driver does (580.159.04), in a thread without a context.
  if (pushed_here == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (reinterpret_cast<std::uintptr_t>(address) % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(map, &address, sizeof address);
  const std::lock_guard lock(mutex);
  fake_driver().encoded.push_back(address);
  return CUDA_SUCCESS;
}
FAKE(cuMemsetD8Async(CUdeviceptr address, unsigned char, std::size_t, CUstream)) {
  fake_driver().lowered.push_back(reinterpret_cast<const void*>(address));
  return CUDA_SUCCESS;
}
FAKE(cuMemAlloc(CUdeviceptr* address, std::size_t bytes)) {
  void* const memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  *address = reinterpret_cast<CUdeviceptr>(memory);
  const std::lock_guard lock(mutex);
  fake_driver().allocated.insert(memory);
  return CUDA_SUCCESS;
}
FAKE(cuMemFree(CUdeviceptr address)) {
  void* const memory = reinterpret_cast<void*>(address);
  const std::lock_guard lock(mutex);
  if (fake_driver().allocated.erase(memory) == 0) return CUDA_ERROR_INVALID_VALUE;
  std::free(memory);
  return CUDA_SUCCESS;
}
FAKE(cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode*)) { return CUDA_SUCCESS; }
FAKE(cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status)) {
  *status = fake_driver().capturing == stream ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                              : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
FAKE(cuStreamGetId(CUstream stream, unsigned long long* id)) {
  const auto& ids = fake_driver().stream_ids;
  const auto found = ids.find(stream);
  *id = found != ids.end() ? found->second : reinterpret_cast<std::uintptr_t>(stream);
  return *id != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
FAKE(cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments,
                      void**)) {
  FakeLaunch launch{.function = name_of(function),
                    .grid = config->gridDimX,
                    .threads = config->blockDimX,
                    .smem_bytes = config->sharedMemBytes,
                    .stream = config->hStream};
  if (launch.function.ends_with("_rows")) {
    launch.packed = static_cast<const hgemm::PackParams*>(arguments[0])->matrices[0].source;
  } else {
    const auto& params = *static_cast<const hgemm::BlockScaledParams*>(arguments[0]);
    launch.a_map = address_in(params.a);
    launch.b_map = address_in(params.b);
    launch.d = params.d_pointer;
    launch.m = params.m;
  }
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      launch.cluster = attribute.value.clusterDim.x;
    }
    launch.pdl |= attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    launch.cooperative |= attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  }
  const std::lock_guard lock(mutex);
  fake_driver().launches.push_back(launch);
  return CUDA_SUCCESS;
}
FAKE(cuGetErrorString(CUresult, const char** text)) {
  *text = "an error of the fake driver";
  return CUDA_SUCCESS;
}
