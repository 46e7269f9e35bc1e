// The functions of torch's stable interface that libhgemm_tune_torch.so calls, without torch:
// tensors are descriptions, and what the dispatcher is asked for is noted.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace hgemm::test {

inline constexpr std::int32_t kFakeBf16 = 15, kFakeFp32 = 6, kFakeUint8 = 0;
inline constexpr std::int32_t kFakeCpu = 0, kFakeCuda = 1;

struct FakeTensor {
  void* data = nullptr;
  std::vector<std::int64_t> sizes, strides;
  std::int32_t dtype = kFakeBf16;
  std::int32_t device_type = kFakeCuda;
  std::int32_t device_index = 0;
  std::vector<unsigned char> memory = {};  ///< if torch has allocated it
};

using FakeKernel = void (*)(std::uint64_t* stack, std::uint64_t inputs, std::uint64_t outputs);

struct FakeTorch {
  std::uint64_t minor_version = 11;            ///< of torch 2
  std::map<std::string, std::string> schemas;  ///< of operators, by name
  std::map<std::string, FakeKernel> kernels;   ///< by name and dispatch key: "linear CUDA"
  bool grad_mode = false;
  std::vector<std::string> called;     ///< operators, by the dispatcher
  std::set<FakeTensor*> tensors;       ///< that are alive
  std::vector<FakeTensor*> allocated;  ///< by empty_strided()
  int strings = 0;                     ///< that are alive
  int has_memory_for = 1000;           ///< tensors more, by empty_strided()
  std::set<std::string> failing;       ///< operators that throw, for a reason of torch's
};
__attribute__((visibility("default"))) FakeTorch& fake_torch();

/// The stream that the library in its CUDA half answers with.
__attribute__((visibility("default"))) void*& fake_current_stream();

}  // namespace hgemm::test
