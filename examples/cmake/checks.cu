#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "common.h"

using hgemm_tuned::Dtype;
using hgemm_tuned::Output;
using hgemm_tuned::Problem;

namespace {

__device__ float uniform(std::uint64_t x) {  // splitmix64, in (0, 1]
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  x ^= x >> 31;
  return (static_cast<float>(x >> 40) + 1) * 0x1p-24f;
}

template <class T>
__global__ void fill_normal(T* data, std::int64_t count, float sigma, std::uint64_t seed) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    const float radius = sqrtf(-2 * logf(uniform((seed << 40) + 2 * i)));
    const float angle = 6.2831853f * uniform((seed << 40) + 2 * i + 1);
    data[i] = T(sigma * radius * cosf(angle));
  }
}

constexpr int kTile = 32;

/// The largest error of each block's outputs, as the bits of a non-negative float.
template <class T, class D>
__global__ void compare(const T* a, const T* b, const D* d, int m, int n, int k, unsigned* worst) {
  __shared__ float a_tile[kTile][kTile + 1], b_tile[kTile][kTile + 1];
  const int row = static_cast<int>(blockIdx.y) * kTile + threadIdx.y;
  const int col = static_cast<int>(blockIdx.x) * kTile + threadIdx.x;
  const int b_row = static_cast<int>(blockIdx.x) * kTile + threadIdx.y;
  float sum = 0;
  for (int at = 0; at < k; at += kTile) {
    const int depth = at + threadIdx.x;
    a_tile[threadIdx.y][threadIdx.x] =
        row < m && depth < k ? float(a[static_cast<std::int64_t>(row) * k + depth]) : 0.0f;
    b_tile[threadIdx.y][threadIdx.x] =
        b_row < n && depth < k ? float(b[static_cast<std::int64_t>(b_row) * k + depth]) : 0.0f;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) {
      sum = fmaf(a_tile[threadIdx.y][i], b_tile[threadIdx.x][i], sum);
    }
    __syncthreads();
  }
  if (row >= m || col >= n) return;
  const float found = float(d[static_cast<std::int64_t>(row) * n + col]);
  const float error = fabsf(found - sum) / (fabsf(sum) + 1);
  atomicMax(worst, isfinite(error) ? __float_as_uint(error) : 0x7fc00000u);
}

template <class T>
void fill(const Operands& o, const Problem& p, unsigned seed, cudaStream_t stream) {
  const auto sigma = static_cast<float>(1 / std::sqrt(static_cast<double>(p.k)));
  fill_normal<<<1024, 256, 0, stream>>>(static_cast<T*>(o.a.get()), p.m * p.k, 1.0f, 2 * seed);
  fill_normal<<<1024, 256, 0, stream>>>(static_cast<T*>(o.b.get()), p.n * p.k, sigma, 2 * seed + 1);
}

template <class T, class D>
void launch_compare(const Operands& o, const void* d, const Problem& p, unsigned* worst,
                    cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((p.n + kTile - 1) / kTile),
                  static_cast<unsigned>((p.m + kTile - 1) / kTile));
  compare<<<grid, dim3(kTile, kTile), 0, stream>>>(
      static_cast<const T*>(o.a.get()), static_cast<const T*>(o.b.get()), static_cast<const D*>(d),
      static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.k), worst);
}

template <class T>
void launch_compare(const Operands& o, const void* d, const Problem& p, unsigned* worst,
                    cudaStream_t stream) {
  if (p.output == Output::kFp32) {
    launch_compare<T, float>(o, d, p, worst, stream);
  } else {
    launch_compare<T, T>(o, d, p, worst, stream);
  }
}

std::size_t input_bytes(std::int64_t rows, std::int64_t cols) {
  return static_cast<std::size_t>(rows * cols) * 2;
}

struct Checks {
  int wrong = 0, right = 0;
  void expect(bool ok, const std::string& what) {
    ++(ok ? right : wrong);
    if (!ok) std::printf("WRONG: %s\n", what.c_str());
  }
};

struct Workspace {
  std::size_t bytes = 0;
  Memory memory;
  explicit Workspace(std::size_t count, cudaStream_t stream) : bytes(count), memory(count) {
    check(hgemm_tuned::init_workspace(stream, memory.get(), bytes), "init_workspace");
  }
};

std::size_t workspace_of(const Problem& p) {
  std::size_t needed = 0;
  check(hgemm_tuned::workspace_bytes(p, &needed), "workspace_bytes");
  return needed;
}

void check_statuses(Checks& checks, cudaStream_t stream) {
  Problem p = tuned_problem(0);
  p.lda = p.ldb = p.ldd = 0;
  const Operands o(p, 1, stream);
  const auto run = [&](const Problem& problem, const void* a, const void* b, void* d) {
    return hgemm_tuned::gemm(stream, problem, {a, b, d}, nullptr, 0);
  };
  const auto* a = static_cast<const char*>(o.a.get());
  Problem bad = p;
  bad.dtype = static_cast<Dtype>(7);
  checks.expect(run(p, nullptr, o.b.get(), o.d.get()) == HGEMM_TUNED_NULL_POINTER, "a null A");
  checks.expect(run(bad, a, o.b.get(), o.d.get()) == HGEMM_TUNED_BAD_DTYPE, "an unknown type");
  bad = p;
  bad.output = static_cast<Output>(7);
  checks.expect(run(bad, a, o.b.get(), o.d.get()) == HGEMM_TUNED_BAD_DTYPE, "an unknown output");
  checks.expect(run({0, 8, 8}, a, o.b.get(), o.d.get()) == HGEMM_TUNED_BAD_PROBLEM, "no rows");
  checks.expect(
      run({8, 8, 16, Dtype::kBf16, 8}, a, o.b.get(), o.d.get()) == HGEMM_TUNED_BAD_PROBLEM,
      "a leading dimension shorter than a row");
  // No kernel takes an odd address, except one that packs; that one needs a workspace.
  const auto odd = run(p, a + 2, o.b.get(), o.d.get());
  checks.expect(
      odd == HGEMM_TUNED_MISALIGNED || odd == HGEMM_TUNED_SMALL_WORKSPACE || odd == HGEMM_TUNED_OK,
      "an address between units");
  check(cudaStreamSynchronize(stream), "running");
}

/// The N and K of every tuned shape with other M, and sizes that are far from every tuned one.
void check_fallbacks(Checks& checks, cudaStream_t stream) {
  std::vector<Problem> problems = {{40, 1000, 520}, {300, 264, 1024}, {7, 72, 80}, {1000, 8, 8}};
  for (int i = 0; i < hgemm_tuned_shape_count(); ++i) {
    const Problem tuned = tuned_problem(i);
    if (tuned.layout != hgemm_tuned::Layout::kTN) continue;
    for (const std::int64_t m : {std::int64_t{3}, std::int64_t{100}, tuned.m + 1}) {
      const Problem p{m, tuned.n, tuned.k, tuned.dtype, 0, 0, 0, tuned.output};
      const auto same = [&p](const Problem& other) { return text_of(other) == text_of(p); };
      if (std::none_of(problems.begin(), problems.end(), same)) problems.push_back(p);
    }
  }
  for (const Problem& p : problems) {
    const auto selection = hgemm_tuned::select(p);
    if (selection.label == nullptr) continue;
    const Operands o(p, 2, stream);
    const Workspace workspace(workspace_of(p) + 1, stream);
    if (workspace.bytes > 1) {
      checks.expect(
          hgemm_tuned::gemm(stream, p, {o.a.get(), o.b.get(), o.d.get()}, workspace.memory.get(),
                            workspace.bytes - 2) == HGEMM_TUNED_SMALL_WORKSPACE,
          text_of(p) + " in a workspace that is too small");
    }
    poison(o, p, stream);
    check(hgemm_tuned::gemm(stream, p, {o.a.get(), o.b.get(), o.d.get()}, workspace.memory.get(),
                            workspace.bytes),
          "gemm");
    check(cudaStreamSynchronize(stream), "running");
    checks.expect(error_of(o, o.d.get(), p, stream) <= tolerance_of(p),
                  text_of(p) + " by " + selection.label);
  }
}

/// Replays all tuned shapes except the largest as graphs on two streams, in opposite orders, at the
/// same time. Different kernels then share the GPU, including kernels whose CTAs wait for each
/// other's sums.
void check_streams(Checks& checks, cudaStream_t stream) {
  std::vector<Problem> problems;
  std::size_t most = 256 << 10;
  for (int i = 0; i < hgemm_tuned_shape_count(); ++i) {
    const Problem tuned = tuned_problem(i);
    if (!is_plain(tuned) || tuned.m * tuned.n > (1 << 27)) continue;
    problems.push_back(tuned);
    most = std::max(most, workspace_of(problems.back()));
  }
  std::vector<Operands> operands;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    operands.emplace_back(problems[i], static_cast<unsigned>(10 + i), stream);
  }
  struct Lane {
    cudaStream_t stream = nullptr;
    cudaGraphExec_t graph = nullptr;
    std::vector<Memory> outputs;  ///< by problem
    std::unique_ptr<Workspace> workspace;
  };
  Lane lanes[2];
  for (Lane& lane : lanes) {
    check(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking), "creating a stream");
    lane.workspace = std::make_unique<Workspace>(most, lane.stream);
    for (const Problem& p : problems) {
      lane.outputs.emplace_back(output_bytes(p));
      check(cudaMemsetAsync(lane.outputs.back().get(), 0xff, output_bytes(p), lane.stream),
            "poisoning");
    }
    check(cudaStreamBeginCapture(lane.stream, cudaStreamCaptureModeGlobal), "capturing");
    for (std::size_t j = 0; j < problems.size(); ++j) {
      const std::size_t i = &lane == lanes ? j : problems.size() - 1 - j;
      check(hgemm_tuned::gemm(lane.stream, problems[i],
                              {operands[i].a.get(), operands[i].b.get(), lane.outputs[i].get()},
                              lane.workspace->memory.get(), lane.workspace->bytes),
            "gemm in a capture");
    }
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(lane.stream, &graph), "capturing");
    check(cudaGraphInstantiate(&lane.graph, graph, 0), "instantiating");
    check(cudaGraphDestroy(graph), "destroying");
  }
  for (int replay = 0; replay < 20; ++replay) {
    for (Lane& lane : lanes) check(cudaGraphLaunch(lane.graph, lane.stream), "launching");
  }
  check(cudaDeviceSynchronize(), "running on two streams");
  for (Lane& lane : lanes) {
    for (std::size_t i = 0; i < problems.size(); ++i) {
      checks.expect(error_of(operands[i], lane.outputs[i].get(), problems[i], stream) <=
                        tolerance_of(problems[i]),
                    text_of(problems[i]) + " beside another stream");
    }
    check(cudaGraphExecDestroy(lane.graph), "destroying");
    check(cudaStreamDestroy(lane.stream), "destroying");
  }
}

}  // namespace

Operands::Operands(const Problem& p, unsigned seed, cudaStream_t stream)
    : a(input_bytes(p.m, p.k)), b(input_bytes(p.n, p.k)), d(output_bytes(p)) {
  if (p.dtype == Dtype::kFp16) {
    fill<__half>(*this, p, seed, stream);
  } else {
    fill<__nv_bfloat16>(*this, p, seed, stream);
  }
  check(cudaGetLastError(), "filling");
  check(cudaStreamSynchronize(stream), "filling");
}

void poison(const Operands& operands, const Problem& p, cudaStream_t stream) {
  check(cudaMemsetAsync(operands.d.get(), 0xff, output_bytes(p), stream), "poisoning");
}

double error_of(const Operands& operands, const void* d, const Problem& p, cudaStream_t stream) {
  const Memory worst(sizeof(unsigned));
  check(cudaMemsetAsync(worst.get(), 0, sizeof(unsigned), stream), "clearing");
  if (p.dtype == Dtype::kFp16) {
    launch_compare<__half>(operands, d, p, static_cast<unsigned*>(worst.get()), stream);
  } else {
    launch_compare<__nv_bfloat16>(operands, d, p, static_cast<unsigned*>(worst.get()), stream);
  }
  check(cudaGetLastError(), "comparing");
  float error = 0;
  check(cudaMemcpyAsync(&error, worst.get(), sizeof error, cudaMemcpyDeviceToHost, stream),
        "comparing");
  check(cudaStreamSynchronize(stream), "comparing");
  return error;
}

double tolerance_of(const Problem& p) {
  const double to_type = p.dtype == Dtype::kFp16 ? 0x1p-11 : 0x1p-8;
  const double rounding = p.output == Output::kFp32 ? 0x1p-24 : to_type;
  return rounding + static_cast<double>(p.k) / 16 * 0x1p-23;
}

int check_package(cudaStream_t stream) {
  Checks checks;
  check_statuses(checks, stream);
  check_fallbacks(checks, stream);
  check_streams(checks, stream);
  std::printf("checks of statuses, fallbacks, graphs and streams: %d right, %d wrong\n",
              checks.right, checks.wrong);
  return checks.wrong;
}
