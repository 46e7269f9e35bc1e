// See hgemm_tuned.h. hgemm-tune writes table.h, which has the kernels and their measured figures.
// families/launch.h, which hgemm-tune itself uses too, has the code that launches them.
#include "hgemm_tuned.h"

#include <cuda.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "cluster_numbers.h"
#include "families/launch.h"
#ifdef HGEMM_TUNED_WITH_CUBLASLT
#include "library.h"
#include "library_table.h"
#endif
#include "problems.h"
#include "selection.h"
#include "status_text.h"
#include "table.h"
#include "tensor_map_types.h"
#include "workspace_layout.h"

namespace {

using namespace hgemm;
using namespace hgemm_tuned_table;
using namespace hgemm_tuned_problems;

thread_local cudaError_t last_cuda_error = cudaSuccess;

hgemm_tuned_status cuda_failed(cudaError_t code) {
  cudaGetLastError();  // clears the error; it is reported instead
  last_cuda_error = code;
  return HGEMM_TUNED_CUDA_ERROR;
}

// ---- Selection ----

using hgemm_tuned_selection_rules::Choice;
Choice choose(const ProblemExtents& p, const GemmKind& kind, const Operands& operands) {
  return hgemm_tuned_selection_rules::choose(
      kRows, kRowCount, [](int i) -> const Kernel& { return kKernels[i].kernel; }, p, kind,
      operands);
}

constexpr bool kHasCublas =
#ifdef HGEMM_TUNED_WITH_CUBLAS
    true;
#else
    false;
#endif

/// Whether cuBLAS computes the problem, if a handle is passed: its only epilogue is alpha, and
/// cublasGemmEx has no 8-bit types.
bool has_cublas(const GemmKind& kind) {
  return kHasCublas && !is_8_bit(kind.input) && (!has_epilogue(kind) || is_only_scaled(kind));
}
bool prefers_cublas(const Choice& choice, const GemmKind& kind) {
  if (!has_cublas(kind)) return false;
  return choice.row == nullptr || (!kBatchInvariant && !choice.row->gain);
}

// ---- The driver ----

/// Functions of the installed driver; libcuda is not linked.
struct Driver {
  decltype(&cuTensorMapEncodeTiled) encode_tensor_map = nullptr;
  decltype(&cuCtxGetCurrent) current_context = nullptr;
  decltype(&cuCtxGetId) context_id = nullptr;
};

template <class Function>
bool find_entry(const char* name, Function* function) {
  constexpr int kSinceCuda12 = 12000;
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult result{};
  if (cudaGetDriverEntryPointByVersion(name, &entry, kSinceCuda12, cudaEnableDefault, &result) !=
          cudaSuccess ||
      result != cudaDriverEntryPointSuccess) {
    cudaGetLastError();
    return false;
  }
  *function = reinterpret_cast<Function>(entry);
  return true;
}

/// Null if there is no driver, or one older than CUDA 12's.
const Driver* driver() {
  static const Driver found = [] {
    Driver entries;
    if (!find_entry("cuTensorMapEncodeTiled", &entries.encode_tensor_map) ||
        !find_entry("cuCtxGetCurrent", &entries.current_context) ||
        !find_entry("cuCtxGetId", &entries.context_id)) {
      return Driver{};
    }
    return entries;
  }();
  return found.context_id != nullptr ? &found : nullptr;
}

// ---- Contexts ----

/// Known facts about a kernel in a context; 0 until they are known. Threads that determine a fact
/// at the same time get the same value.
struct Loaded {
  std::atomic<int> resident{0};  ///< clusters at once
  std::atomic<int> pack_ctas{0};
};

/// Everything that is known about one CUDA context. A device that was reset, for example after an
/// aborted launch, has another context with another id, about which nothing is known. Kernels are
/// then loaded again, and workspaces must be initialised again, because the aborted launch may have
/// left their flags raised.
struct Context {
  bool is_hopper = false;
  int sm_count = 0;
  Loaded kernels[kKernelCount];
  ContextNumbers numbers;
#ifdef HGEMM_TUNED_WITH_CUBLASLT
  hgemm_tuned_library::Plan plans[kLibraryRowCount];
#endif

  void add_workspace(const void* address, std::size_t bytes) {
    const std::unique_lock lock(mutex_);
    workspaces_[address] = bytes;
  }
  bool has_workspace(const void* address, std::size_t bytes) const {
    const std::shared_lock lock(mutex_);
    const auto found = workspaces_.find(address);
    return found != workspaces_.end() && found->second >= bytes;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<const void*, std::size_t> workspaces_;  ///< bytes of each initialised one
};

/// The id of the current context. Creates a context if there is none yet; 0 if that fails.
unsigned long long current_context_id(const Driver& cuda) {
  const auto find = [&](unsigned long long* id) {
    CUcontext context = nullptr;
    return cuda.current_context(&context) == CUDA_SUCCESS && context != nullptr &&
           cuda.context_id(context, id) == CUDA_SUCCESS;
  };
  unsigned long long id = 0;
  if (find(&id)) return id;
  if (cudaFree(nullptr) != cudaSuccess) return 0;  // creates the current device's context
  return find(&id) ? id : 0;
}

/// The known facts about the context with this id. They are never removed, because launches of
/// other threads may use them and a process has few contexts.
Context& context_of(unsigned long long id) {
  static std::mutex mutex;
  static std::unordered_map<unsigned long long, std::unique_ptr<Context>> contexts;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Context>& context = contexts[id];
  if (context == nullptr) {
    context = std::make_unique<Context>();
    int device = 0, major = 0, minor = 0;
    context->is_hopper =
        cudaGetDevice(&device) == cudaSuccess &&
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess &&
        cudaDeviceGetAttribute(&context->sm_count, cudaDevAttrMultiProcessorCount, device) ==
            cudaSuccess &&
        major == 9 && minor == 0;
  }
  return *context;
}

hgemm_tuned_status current_context(Context** found) {
  static thread_local unsigned long long last_id = 0;
  static thread_local Context* last = nullptr;
  const Driver* const cuda = driver();
  const unsigned long long id = cuda != nullptr ? current_context_id(*cuda) : 0;
  if (id == 0) {
    cudaGetLastError();
    return HGEMM_TUNED_NO_HOPPER_GPU;
  }
  if (id != last_id) {
    last = &context_of(id);
    last_id = id;
  }
  *found = last;
  return last->is_hopper ? HGEMM_TUNED_OK : HGEMM_TUNED_NO_HOPPER_GPU;
}

hgemm_tuned_status load(const TunedKernel& tuned, const Context& context, Loaded* loaded) {
  if (loaded->resident.load(std::memory_order_acquire) != 0) return HGEMM_TUNED_OK;
  const Kernel& kernel = tuned.kernel;
  if (const cudaError_t code = cudaFuncSetAttribute(
          tuned.function, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes(kernel));
      code != cudaSuccess) {
    return cuda_failed(code);
  }
  int resident = 0;
  LaunchAttributes attributes;
  const cudaLaunchConfig_t config =
      launch_config(kernel, cluster_size(kernel), nullptr, &attributes);
  if (const cudaError_t code = cudaOccupancyMaxActiveClusters(&resident, tuned.function, &config);
      code != cudaSuccess) {
    return cuda_failed(code);
  }
  if (resident < 1) return cuda_failed(cudaErrorLaunchOutOfResources);
  if (packs(kernel)) {
    int blocks = 0;
    if (const cudaError_t code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, tuned.pack_function, kPackThreads, 0);
        code != cudaSuccess) {
      return cuda_failed(code);
    }
    loaded->pack_ctas.store(blocks * context.sm_count, std::memory_order_relaxed);
  }
  loaded->resident.store(resident, std::memory_order_release);
  return HGEMM_TUNED_OK;
}

// ---- Launches ----

hgemm_tuned_status launch(cudaStream_t stream, int index, const ProblemExtents& p,
                          const Operands& operands, void* workspace, std::size_t bytes) {
  const TunedKernel& tuned = kKernels[index];
  const Kernel& kernel = tuned.kernel;
  Context* context = nullptr;
  if (const auto status = current_context(&context); status != HGEMM_TUNED_OK) return status;
  Loaded& loaded = context->kernels[index];
  if (const auto status = load(tuned, *context, &loaded); status != HGEMM_TUNED_OK) return status;
  const int ctas = grid_ctas(kernel, p, loaded.resident.load(std::memory_order_relaxed));
  const WorkspaceLayout layout = layout_of(workspace_bytes(kernel, p, ctas));
  if (layout.total > 0) {
    if (workspace == nullptr || bytes < layout.total) return HGEMM_TUNED_SMALL_WORKSPACE;
    if (!is_multiple_of(workspace, kWorkspaceUnit)) return HGEMM_TUNED_MISALIGNED_WORKSPACE;
    if (!context->has_workspace(workspace, kFlagBytes)) {
      return HGEMM_TUNED_WORKSPACE_NOT_INITIALISED;
    }
  }
  auto* const base = static_cast<unsigned char*>(workspace);
  WorkspaceAddresses at;
  if (layout.total > 0) {
    at = {base + layout.partials, base, base + layout.packed_a, base + layout.packed_b};
  }
  at.numbers = context->numbers.of(kernel, ctas);
  bool ok = true;
  LaunchParams params = make_launch_params(kernel, p, operands, at, [&](const MatrixMap& map) {
    return encode(driver()->encode_tensor_map, map, &ok);
  });
  if (!ok) return cuda_failed(cudaErrorInvalidValue);

  if (params.pack.matrices[0].rows > 0 || params.pack.matrices[1].rows > 0) {
    LaunchAttributes attributes;
    const cudaLaunchConfig_t config = pack_launch_config(
        kernel, loaded.pack_ctas.load(std::memory_order_relaxed), stream, &attributes);
    void* arguments[] = {&params.pack};
    if (const cudaError_t code = cudaLaunchKernelExC(&config, tuned.pack_function, arguments);
        code != cudaSuccess) {
      return cuda_failed(code);
    }
  }
  LaunchAttributes attributes;
  const cudaLaunchConfig_t config =
      launch_config(kernel, ctas, stream, &attributes, waits_in_memory(kernel));
  void* arguments[] = {&params.kernel};
  if (const cudaError_t code = cudaLaunchKernelExC(&config, tuned.function, arguments);
      code != cudaSuccess) {
    return cuda_failed(code);
  }
  return HGEMM_TUNED_OK;
}

#ifdef HGEMM_TUNED_WITH_CUBLAS
}  // namespace
#include "cublas_calls.h"
namespace {
#else
hgemm_tuned_status launch_cublas(cudaStream_t, const ProblemExtents&, const GemmKind&,
                                 const Operands&, void*) {
  return HGEMM_TUNED_NO_KERNEL;
}
#endif

// ---- Libraries that are faster ----

#ifdef HGEMM_TUNED_WITH_CUBLASLT
}  // namespace
#include "library_calls.h"
namespace {
#else
int library_of(const Choice&, const Operands&) { return -1; }
hgemm_tuned_status prepare_libraries() { return HGEMM_TUNED_OK; }
hgemm_tuned_status add_library_bytes(const Choice&, const Operands&, std::size_t*) {
  return HGEMM_TUNED_OK;
}
bool launch_library(cudaStream_t, const Choice&, const ProblemExtents&, const GemmKind&,
                    const Operands&, void*, std::size_t, void*, hgemm_tuned_status*) {
  return false;
}
#endif

}  // namespace

// ---- The interface ----

const char* hgemm_tuned_status_string(int status) { return hgemm_tuned_problems::text_of(status); }

cudaError_t hgemm_tuned_last_cuda_error(void) { return last_cuda_error; }

int hgemm_tuned_shape_count(void) { return kRowCount; }

hgemm_tuned_problem hgemm_tuned_shape(int index) {
  if (index < 0 || index >= kRowCount) return {};
  return problem_of(kRows[index].problem, kRows[index].kind);
}

hgemm_tuned_selection hgemm_tuned_select(const hgemm_tuned_problem* problem) {
  hgemm_tuned_selection selection = hgemm_tuned_selection_rules::no_selection();
  selection.status = check(problem);
  if (selection.status != HGEMM_TUNED_OK) return selection;
  const ProblemExtents p = extents_of(*problem);
  if (why_unsupported(p) != nullptr) {
    selection.status = HGEMM_TUNED_BAD_PROBLEM;
    return selection;
  }
  const GemmKind kind = kind_of(*problem);
  const Choice choice = choose(p, kind, {});
  selection.uses_cublas = prefers_cublas(choice, kind) ? 1 : 0;
  if (choice.row == nullptr) {
    if (has_cublas(kind)) selection.source = HGEMM_TUNED_CUBLAS_ONLY;
    selection.status = has_cublas(kind) ? HGEMM_TUNED_OK : choice.status;
    return selection;
  }
  hgemm_tuned_selection_rules::describe(choice, kKernels[choice.kernel].label, &selection);
  selection.uses_cublaslt = library_of(choice, {}) >= 0 ? 1 : 0;
  return selection;
}

hgemm_tuned_status hgemm_tuned_prepare(void) {
  Context* context = nullptr;
  if (const auto status = current_context(&context); status != HGEMM_TUNED_OK) return status;
  for (int i = 0; i < kKernelCount; ++i) {
    if (const auto status = load(kKernels[i], *context, &context->kernels[i]);
        status != HGEMM_TUNED_OK) {
      return status;
    }
  }
  for (const Row& row : kRows) {
    for (const int i : {row.kernel, row.general_kernel}) {
      if (i < 0) continue;
      const int resident = context->kernels[i].resident.load(std::memory_order_relaxed);
      const cudaError_t code = context->numbers.find(kKernels[i].kernel, row.problem, resident);
      if (code != cudaSuccess) return cuda_failed(code);
    }
  }
  return prepare_libraries();
}

hgemm_tuned_status hgemm_tuned_workspace_bytes(const hgemm_tuned_problem* problem,
                                               const hgemm_tuned_operands* addresses,
                                               size_t* bytes) {
  if (const auto status = check(problem); status != HGEMM_TUNED_OK) return status;
  if (bytes == nullptr) return HGEMM_TUNED_NULL_POINTER;
  const ProblemExtents p = extents_of(*problem);
  if (why_unsupported(p) != nullptr) return HGEMM_TUNED_BAD_PROBLEM;
  *bytes = 0;
  const GemmKind kind = kind_of(*problem);
  const Operands operands = operands_of(addresses, kind);
  const Choice choice = choose(p, kind, operands);
  if (choice.row == nullptr) return has_cublas(kind) ? HGEMM_TUNED_OK : choice.status;
  Context* context = nullptr;
  if (const auto status = current_context(&context); status != HGEMM_TUNED_OK) return status;
  Loaded& loaded = context->kernels[choice.kernel];
  const TunedKernel& tuned = kKernels[choice.kernel];
  if (const auto status = load(tuned, *context, &loaded); status != HGEMM_TUNED_OK) return status;
  const int ctas = grid_ctas(tuned.kernel, p, loaded.resident.load(std::memory_order_relaxed));
  *bytes = layout_of(workspace_bytes(tuned.kernel, p, ctas)).total;
  return add_library_bytes(choice, operands, bytes);
}

hgemm_tuned_status hgemm_tuned_init_workspace(cudaStream_t stream, void* workspace, size_t bytes) {
  if (bytes == 0) return HGEMM_TUNED_OK;
  if (workspace == nullptr) return HGEMM_TUNED_NULL_POINTER;
  if (!is_multiple_of(workspace, kWorkspaceUnit)) return HGEMM_TUNED_MISALIGNED_WORKSPACE;
  Context* context = nullptr;
  if (const auto status = current_context(&context); status != HGEMM_TUNED_OK) return status;
  const cudaError_t code =
      cudaMemsetAsync(workspace, 0, bytes < kFlagBytes ? bytes : kFlagBytes, stream);
  if (code != cudaSuccess) return cuda_failed(code);
  context->add_workspace(workspace, bytes);
  return HGEMM_TUNED_OK;
}

hgemm_tuned_status hgemm_tuned_gemm(cudaStream_t stream, const hgemm_tuned_problem* problem,
                                    const hgemm_tuned_operands* addresses, void* workspace,
                                    size_t workspace_bytes, void* cublas) {
  if (const auto status = check(problem); status != HGEMM_TUNED_OK) return status;
  const GemmKind kind = kind_of(*problem);
  const Operands operands = operands_of(addresses, kind);
  if (!has_all(operands, kind)) return HGEMM_TUNED_NULL_POINTER;
  const ProblemExtents p = extents_of(*problem);
  if (why_unsupported(p) != nullptr) return HGEMM_TUNED_BAD_PROBLEM;
  const Choice choice = choose(p, kind, operands);
  hgemm_tuned_status status = HGEMM_TUNED_OK;
  if (launch_library(stream, choice, p, kind, operands, workspace, workspace_bytes, cublas,
                     &status)) {
    return status;
  }
  if (cublas != nullptr && prefers_cublas(choice, kind)) {
    return launch_cublas(stream, p, kind, operands, cublas);
  }
  if (choice.row == nullptr) return choice.status;
  return launch(stream, choice.kernel, p, operands, workspace, workspace_bytes);
}
