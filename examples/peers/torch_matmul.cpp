// A peer: torch.matmul, through PyTorch's C++ interface. It builds against an installed PyTorch for
// CUDA, whose folder is that of its Python package:
//
//     g++ -std=c++20 -O2 -fPIC -shared -D_GLIBCXX_USE_CXX11_ABI=1 -Iinclude -I$TORCH/include \
//         -I$TORCH/include/torch/csrc/api/include -I$CUDA/include examples/peers/torch_matmul.cpp \
//         -o torch_matmul.so -L$TORCH/lib -Wl,-rpath,$TORCH/lib \
//         -Wl,--no-as-needed -lc10 -lc10_cuda -ltorch_cpu -ltorch_cuda -ltorch -ldl
//
// What races is the kernel that cuBLAS or cuBLASLt chooses when PyTorch asks, with PyTorch's
// workspace and settings. PyTorch's time on the host does not count.
//
// The cuBLAS is the one that the process has: hgemm-tune is linked with libcublas.so.13, and the
// loader gives a PyTorch that needs the same name the same library, not the one of PyTorch's
// wheels. --blas chooses that library for both. A PyTorch for CUDA 12 loads its own libcublas.so.12
// beside it. The description of a variant has the version. Tried with the headers of PyTorch 2.11.
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <array>
#include <cstdint>
#include <exception>
#include <string>

#include "hgemm_peer.h"

namespace {

std::string failed;  ///< why the last call failed

/// Runs what may throw; 0 for success.
template <class Function>
int guarded(const Function& function) {
  try {
    function();
    return 0;
  } catch (const std::exception& error) {
    failed = error.what();
    return 1;
  }
}

enum Variant { kDefault, kCublasLt, kVariants };

at::BlasBackend preferred;  ///< by PyTorch's defaults and the environment

/// PyTorch's allocator gives out no device memory before this.
int open_peer(const char*, void**) {
  return guarded([] {
    at::globalContext().lazyInitDevice(at::kCUDA);
    preferred = at::globalContext().blasPreferredBackend();
  });
}

/// "13.0.2" of the cuBLAS that PyTorch calls: the loaded one for the CUDA of this build.
std::string cublas_version() {
  using Property = int (*)(int, int*);
  const std::string name = "libcublas.so." + std::to_string(CUDART_VERSION / 1000);
  void* const library = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return "unknown";
  const auto property = reinterpret_cast<Property>(dlsym(library, "cublasGetProperty"));
  if (property == nullptr) return "unknown";
  std::array<int, 3> parts{};  // major, minor and patch are properties 0, 1 and 2
  for (int i = 0; i < 3; ++i) property(i, &parts[static_cast<std::size_t>(i)]);
  return std::to_string(parts[0]) + "." + std::to_string(parts[1]) + "." + std::to_string(parts[2]);
}

int variants(const hgemm_peer_problem& p) {
  const bool is_known = p.a_type == HGEMM_PEER_BF16 || p.a_type == HGEMM_PEER_FP16;
  return is_known && p.b_type == p.a_type && p.d_type == p.a_type ? kVariants : 0;
}

const char* describe(int variant) {
  static std::string text;
  text = (variant == kDefault ? "defaults" : "cuBLASLt preferred");
  text += ", cuBLAS " + cublas_version();
  return text.c_str();
}

/// The first launch on a stream allocates a workspace, which PyTorch keeps for later ones; it asks
/// its own allocator for anything else, which has memory of the first launch left.
int launch(const hgemm_peer_problem& p, int variant, const hgemm_peer_operands& o,
           hgemm_peer_stream stream) {
  return guarded([&] {
    const c10::InferenceMode no_gradients;
    const c10::Device device(c10::kCUDA, c10::cuda::current_device());
    const c10::cuda::CUDAStreamGuard on_stream(
        c10::cuda::getStreamFromExternal(stream, device.index()));
    at::globalContext().setBlasPreferredBackend(variant == kDefault ? preferred
                                                                    : at::BlasBackend::Cublaslt);
    const auto options = at::TensorOptions().device(device).dtype(
        p.a_type == HGEMM_PEER_BF16 ? at::kBFloat16 : at::kHalf);
    const auto matrix = [&](const void* data, std::int64_t rows, std::int64_t columns,
                            std::int64_t leading) {
      const std::array<std::int64_t, 2> sizes = {rows, columns}, strides = {leading, 1};
      // With a target device, PyTorch does not ask the driver where the pointer is from.
      return at::for_blob(const_cast<void*>(data), sizes)
          .strides(strides)
          .options(options)
          .target_device(device)
          .make_tensor();
    };
    at::Tensor d = matrix(o.d, p.m, p.n, p.ldd);
    at::matmul_out(d, matrix(o.a, p.m, p.k, p.lda), matrix(o.b, p.n, p.k, p.ldb).t());
  });
}

}  // namespace

const hgemm_peer* hgemm_peer_table() {
  static const hgemm_peer kTable = {
      HGEMM_PEER_ABI,
      sizeof(hgemm_peer),
      "torch",
      "PyTorch " TORCH_VERSION,
      0,  // knows nothing of 8-bit operands and scales
      0,
      open_peer,
      [](void*) {},
      [](void*) { return failed.c_str(); },
      [](void*, const hgemm_peer_problem* p) { return variants(*p); },
      [](void*, const hgemm_peer_problem*, int variant) { return describe(variant); },
      [](void*, const hgemm_peer_problem*, int) { return std::int64_t{0}; },
      [](void*, const hgemm_peer_problem* p, int variant, const hgemm_peer_operands* o,
         hgemm_peer_stream stream) { return launch(*p, variant, *o, stream); }};
  return &kTable;
}
