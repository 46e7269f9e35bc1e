#include "plan.h"

#include <cstring>
#include <mutex>
#include <utility>

#include "families/launch.h"
#include "launch.h"
#include "tensor_map_types.h"

namespace hgemm_runtime {

using namespace hgemm;
using hgemm_tuned_table::kFlagBytes;
using hgemm_tuned_table::kWorkspaceUnit;

namespace {

/// Servers pad M to some dozens of numbers. Beyond this many, entries are made for each call, so
/// that prompts of every length do not fill the memory.
constexpr std::size_t kMostEntries = 1024;

bool is_b(const MatrixMap& map) { return std::strcmp(map.name, "B") == 0; }

/// All that the choice of a kernel depends on of addresses. B's are the plan's.
std::uint64_t offsets_of(const Operands& operands) {
  std::uint64_t offsets = 0;
  for (const void* address : std::initializer_list<const void*>{
           operands.a, operands.d, operands.c, operands.bias, operands.aux, operands.scale_a,
           operands.scale_b, operands.scale_d, operands.scales_d}) {
    static_assert(kUnitBytes == 16);
    offsets = offsets << 4 | (reinterpret_cast<std::uintptr_t>(address) % kUnitBytes);
  }
  return offsets;
}

}  // namespace

std::size_t Plan::KeyHash::operator()(const Key& key) const {
  return std::hash<std::uint64_t>()(static_cast<std::uint64_t>(key.m) ^ key.offsets << 28);
}

TensorMap Plan::encode(const Entry& entry, const MatrixMap& map, bool* ok) const {
  // A packed B is another matrix, in the workspace.
  if (entry.has_b && is_b(map) && map.data == b_) return entry.b;
  return hgemm_tuned_table::encode(device_.driver.encode_tensor_map, map, ok);
}

std::unique_ptr<Plan::Entry> Plan::make_entry(std::int64_t m, const Operands& operands) const {
  auto entry = std::make_unique<Entry>();
  hgemm_tuned_problem problem = problem_;
  problem.m = m;
  entry->extents = hgemm_tuned_problems::extents_of(problem);
  if (why_unsupported(entry->extents) != nullptr) {
    entry->status = HGEMM_TUNED_BAD_PROBLEM;
    return entry;
  }
  const GemmKind kind = hgemm_tuned_problems::kind_of(problem);
  entry->choice = bundle_.choose(entry->extents, kind, operands);
  entry->status = bundle_.status_of(entry->choice, entry->extents, kind, only_gains_);
  if (is_miss(entry->status)) {
    if (is_miss(bundle_.status_of(problem, only_gains_))) {
      entry->misses = &bundle_.misses().counter_of(gemm_problem(entry->extents, kind));
    } else {  // a tune, whose operands are aligned, would find what is there
      entry->status = HGEMM_TUNED_MISALIGNED;
    }
  }
  if (entry->status != HGEMM_TUNED_OK) return entry;
  const Kernel& kernel = bundle_.kernel(entry->choice.kernel).kernel;
  entry->ctas = grid_ctas(kernel, entry->extents, device_.kernel(entry->choice.kernel).resident);
  entry->layout =
      hgemm_tuned_table::layout_of(hgemm::workspace_bytes(kernel, entry->extents, entry->ctas));
  const CurrentContext current(device_.driver, device_.context());
  // Of these parameters only B's map is kept.
  Operands only_b;
  only_b.b = b_;
  make_launch_params(kernel, entry->extents, only_b, {}, [&](const MatrixMap& map) {
    if (!is_b(map) || map.data != b_) return TensorMap{};
    entry->has_b = true;
    const TensorMap encoded =
        hgemm_tuned_table::encode(device_.driver.encode_tensor_map, map, &entry->has_b);
    if (entry->has_b) entry->b = encoded;
    return encoded;
  });
  return entry;
}

Operands Plan::with_b(const hgemm_tuned_operands& operands) const {
  Operands all =
      hgemm_tuned_problems::operands_of(&operands, hgemm_tuned_problems::kind_of(problem_));
  all.b = b_;
  return all;
}

const Plan::Entry& Plan::entry_of(std::int64_t m, const Operands& operands,
                                  std::unique_ptr<Entry>& own) {
  const Key key{m, offsets_of(operands)};
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = entries_.find(key); found != entries_.end()) return *found->second;
  }
  std::unique_ptr<Entry> made = make_entry(m, operands);
  const std::unique_lock lock(mutex_);
  if (entries_.size() >= kMostEntries && !entries_.contains(key)) {
    own = std::move(made);
    return *own;
  }
  return *entries_.try_emplace(key, std::move(made)).first->second;
}

Outcome Plan::workspace_bytes(std::int64_t m, const hgemm_tuned_operands& operands,
                              std::size_t* bytes) {
  std::unique_ptr<Entry> own;
  const Entry& entry = entry_of(m, with_b(operands), own);
  *bytes = entry.layout.total;
  return {entry.status};
}

void Plan::count_miss(std::int64_t m) {
  std::unique_ptr<Entry> own;
  const Entry& entry = entry_of(m, with_b({}), own);
  if (entry.misses != nullptr) entry.misses->fetch_add(1, std::memory_order_relaxed);
}

Outcome Plan::launch(CUstream stream, std::int64_t m, const hgemm_tuned_operands& addresses,
                     void* workspace, std::size_t bytes) {
  const Operands operands = with_b(addresses);
  if (!hgemm_tuned_problems::has_all(operands, hgemm_tuned_problems::kind_of(problem_))) {
    return {HGEMM_TUNED_NULL_POINTER};
  }
  std::unique_ptr<Entry> own;
  const Entry& entry = entry_of(m, operands, own);
  if (entry.misses != nullptr) entry.misses->fetch_add(1, std::memory_order_relaxed);
  if (entry.status != HGEMM_TUNED_OK) return {entry.status};
  if (!device_.is_alive()) return {HGEMM_BUNDLE_NOT_PREPARED};
  if (entry.layout.total > 0) {
    if (workspace == nullptr || bytes < entry.layout.total) return {HGEMM_TUNED_SMALL_WORKSPACE};
    if (!is_multiple_of(workspace, kWorkspaceUnit)) return {HGEMM_TUNED_MISALIGNED_WORKSPACE};
    if (!device_.has_workspace(workspace, kFlagBytes)) {
      return {HGEMM_TUNED_WORKSPACE_NOT_INITIALISED};
    }
  }
  return enqueue(entry, stream, operands, workspace);
}

Outcome Plan::enqueue(const Entry& entry, CUstream stream, const Operands& operands,
                      void* workspace) const {
  const Kernel& kernel = bundle_.kernel(entry.choice.kernel).kernel;
  const LoadedKernel& loaded = device_.kernel(entry.choice.kernel);
  const Driver& driver = device_.driver;
  WorkspaceAddresses at;
  if (entry.layout.total > 0) {
    auto* const base = static_cast<unsigned char*>(workspace);
    at = {base + entry.layout.partials, base, base + entry.layout.packed_a,
          base + entry.layout.packed_b};
  }
  // Tensor maps need it too: a thread without a context cannot encode them.
  const CurrentContext current(driver, device_.context());
  if (current.code() != CUDA_SUCCESS) {
    return driver_failed(driver, current.code(), "making the device's context current");
  }
  bool ok = true;
  LaunchParams params =
      make_launch_params(kernel, entry.extents, operands, at,
                         [&](const MatrixMap& map) { return encode(entry, map, &ok); });
  if (!ok) return {HGEMM_BUNDLE_DRIVER_ERROR, "the driver refused a tensor map"};
  if (params.pack.matrices[0].rows > 0 || params.pack.matrices[1].rows > 0) {
    LaunchAttributes attributes;
    const DriverLaunch launch(pack_launch_config(kernel, loaded.pack_ctas, stream, &attributes));
    void* arguments[] = {&params.pack};
    const CUresult code = driver.launch(launch.config(), loaded.pack_function, arguments, nullptr);
    if (code != CUDA_SUCCESS) return driver_failed(driver, code, "launching the kernel that packs");
  }
  LaunchAttributes attributes;
  const DriverLaunch launch(
      launch_config(kernel, entry.ctas, stream, &attributes, waits_in_memory(kernel)));
  void* arguments[] = {&params.kernel};
  const CUresult code = driver.launch(launch.config(), loaded.function, arguments, nullptr);
  if (code != CUDA_SUCCESS) return driver_failed(driver, code, "launching the kernel");
  return {};
}

}  // namespace hgemm_runtime
