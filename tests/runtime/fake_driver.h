// A libcuda.so.1 without a GPU: it notes what it is asked to launch.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace hgemm::test {

struct FakeLaunch {
  std::string function;
  unsigned grid = 0, threads = 0, smem_bytes = 0, cluster = 0;
  bool pdl = false, cooperative = false;
  const void* stream = nullptr;
  /// From the kernel's parameters: the addresses behind its tensor maps, and its rows.
  const void* a_map = nullptr;
  const void* b_map = nullptr;
  const void* d = nullptr;
  const void* packed = nullptr;  ///< A, of a launch that packs, which has nothing of the above
  int m = 0;
};

struct FakeDriver {
  std::string gpu_name = "NVIDIA H200";
  int driver_cuda = 13000;
  unsigned long long context_id = 7;
  int libraries = 0;                 ///< loaded and not unloaded
  int contexts = 0;                  ///< retained and not released
  int pushed = 0;                    ///< contexts that are pushed
  std::vector<std::string> loaded;   ///< functions that cuFuncLoad() has loaded
  std::vector<const void*> encoded;  ///< addresses of the tensor maps that were encoded
  std::vector<const void*> lowered;  ///< addresses that were set to zero
  std::set<void*> allocated;         ///< and not freed
  const void* capturing = nullptr;   ///< the stream that is being captured
  /// Those of streams, by their handles; 0: it is not told. Others have their handle.
  std::map<const void*, unsigned long long> stream_ids;
  std::vector<FakeLaunch> launches;
};

/// The state of the driver, for the test to look at and to change while no call runs.
__attribute__((visibility("default"))) FakeDriver& fake_driver();

}  // namespace hgemm::test
