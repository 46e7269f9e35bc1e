// A peer: the kernels that CUDA-L2 released (arXiv 2512.02551), one library for each problem. Its
// option is the folder with the libraries M_N_K.so, each built from the file of that name in a
// checkout of CUDA-L2, with the folder of this file first in the include path:
//
//     nvcc -shared -Xcompiler -fPIC -arch=sm_90a -Iinclude examples/peers/cuda_l2/peer.cu -o
//     cuda_l2.so -ldl hgemm-tune race --peer cuda_l2.so:FOLDER --dtype fp16 --shapes 4096x4096x4096
//
// examples/peers/cuda_l2/build.sh builds the libraries.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <exception>
#include <map>
#include <string>

#include "hgemm_peer.h"
#include "torch/extension.h"

namespace {

using Gemm = void (*)(torch::Tensor a, torch::Tensor b, torch::Tensor b_column_major,
                      torch::Tensor c);
/// cuda_l2_h100_fp32(torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor)
constexpr const char* kFunction = "_Z17cuda_l2_h100_fp32N5torch6TensorES0_S0_S0_";
/// hgemm_l2::blocks(): each library has its own.
constexpr const char* kBlocks = "_ZN8hgemm_l26blocksEv";

struct Library {
  Gemm gemm = nullptr;
  hgemm_l2::Blocks* blocks = nullptr;
};

struct State {
  std::string folder, error;
  std::map<std::string, Library> libraries;
  // Their kernels run on the default stream. It is forked from the given stream, and joined to it.
  cudaEvent_t fork = nullptr, join = nullptr;
};
State& state_of(void* state) { return *static_cast<State*>(state); }

/// The library of a problem; without a function if there is none.
const Library& library_of(State& state, const hgemm_peer_problem& p) {
  const std::string name =
      std::to_string(p.m) + "_" + std::to_string(p.n) + "_" + std::to_string(p.k);
  const auto [known, is_new] = state.libraries.try_emplace(name);
  if (!is_new) return known->second;
  void* const file = dlopen((state.folder + "/" + name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr) return known->second;
  known->second.gemm = reinterpret_cast<Gemm>(dlsym(file, kFunction));
  if (void* const blocks = dlsym(file, kBlocks)) {
    known->second.blocks = &reinterpret_cast<hgemm_l2::Blocks& (*)()>(blocks)();
  }
  return known->second;
}

int open_peer(const char* options, void** state) {
  auto* const opened = new State{.folder = options, .error = {}, .libraries = {}};
  *state = opened;
  return cudaEventCreateWithFlags(&opened->fork, cudaEventDisableTiming) != cudaSuccess ||
         cudaEventCreateWithFlags(&opened->join, cudaEventDisableTiming) != cudaSuccess;
}

int variants(void* state, const hgemm_peer_problem* p) {
  const bool is_fp16 =
      p->a_type == HGEMM_PEER_FP16 && p->b_type == HGEMM_PEER_FP16 && p->d_type == HGEMM_PEER_FP16;
  const bool is_dense = p->lda == p->k && p->ldb == p->k && p->ldd == p->n;
  return is_fp16 && is_dense && library_of(state_of(state), *p).gemm != nullptr;
}

int launch(void* given, const hgemm_peer_problem* p, int, const hgemm_peer_operands* o,
           hgemm_peer_stream stream) {
  State& state = state_of(given);
  const Library& library = library_of(state, *p);
  if (library.blocks != nullptr) library.blocks->next = 0;
  cudaEventRecord(state.fork, stream);
  cudaStreamWaitEvent(cudaStreamPerThread, state.fork);
  int failed = 0;
  try {
    library.gemm({const_cast<void*>(o->a), p->m, p->k}, {nullptr, p->k, p->n},
                 {const_cast<void*>(o->b), p->k, p->n}, {o->d, p->m, p->n});
  } catch (const std::exception& error) {
    state.error = error.what();
    failed = 1;
  }
  cudaEventRecord(state.join, cudaStreamPerThread);
  cudaStreamWaitEvent(stream, state.join);
  return failed;
}

}  // namespace

const hgemm_peer* hgemm_peer_table() {
  static const hgemm_peer kTable = {
      HGEMM_PEER_ABI,
      sizeof(hgemm_peer),
      "cuda_l2",
      "H100 F32F16F16F32",
      0,  // knows nothing of 8-bit operands and scales
      0,
      open_peer,
      [](void* state) { delete &state_of(state); },
      [](void* state) {
        return state == nullptr ? "no events could be created" : state_of(state).error.c_str();
      },
      variants,
      [](void*, const hgemm_peer_problem*, int) { return "its kernel for this shape"; },
      [](void*, const hgemm_peer_problem*, int) { return std::int64_t{0}; },
      launch};
  return &kTable;
}
