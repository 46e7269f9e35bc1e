// The half of torch that is there with CUDA only.
#include "tests/runtime/fake_torch.h"

void*& hgemm::test::fake_current_stream() {
  static void* stream = nullptr;
  return stream;
}

extern "C" __attribute__((visibility("default"))) int aoti_torch_get_current_cuda_stream(
    std::int32_t, void** stream) {
  *stream = hgemm::test::fake_current_stream();
  return 0;
}
