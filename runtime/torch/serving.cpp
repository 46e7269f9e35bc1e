#include "serving.h"

#include <bit>
#include <functional>

#include "stream.h"

namespace hgemm_torch {

namespace {

/// A model has some hundred weights. Beyond this many, as where tensors that live for one step are
/// taken for weights, all plans are made anew.
constexpr std::size_t kMostPlans = 8192;

void add_to(std::size_t& hash, std::uint64_t value) {
  hash ^= std::hash<std::uint64_t>()(value) + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
}

void* data_of(const Tensor& tensor) {
  void* data = nullptr;
  require(torch().get_data_ptr(tensor.get(), &data), "reading a tensor's address");
  return data;
}

hgemm_tuned_problem problem_of(const Weight& w, std::int64_t m) {
  hgemm_tuned_problem problem{};
  problem.m = m;
  problem.n = w.n;
  problem.k = w.k;
  problem.dtype = w.dtype;
  problem.lda = w.lda;
  problem.ldb = w.ldb;
  problem.layout = w.layout;
  problem.bias = w.bias;
  problem.activation = w.activation;
  problem.gate = w.gate;
  return problem;
}

}  // namespace

std::size_t WeightHash::operator()(const Weight& w) const {
  std::size_t hash = 0;
  add_to(hash, reinterpret_cast<std::uintptr_t>(w.data));
  for (const std::int64_t value : {w.n, w.k, w.lda, w.ldb}) {
    add_to(hash, static_cast<std::uint64_t>(value));
  }
  for (const std::int32_t value : {w.device, w.dtype, w.layout, w.bias, w.activation, w.gate}) {
    add_to(hash, static_cast<std::uint64_t>(value));
  }
  return hash;
}

bool Serving::can_prepare(std::int32_t device, void* stream) {
  if (is_capturing(stream)) return false;
  const std::lock_guard lock(devices_mutex_);
  if (!tried_devices_.insert(device).second) return false;
  return hgemm_bundle_prepare(bundle_, device, 0) == HGEMM_TUNED_OK;
}

Serving::Plan Serving::plan_of(const Weight& w, void* stream) {
  {
    const std::shared_lock lock(plans_mutex_);
    if (const auto found = plans_.find(w); found != plans_.end()) return found->second;
  }
  const hgemm_tuned_problem problem = problem_of(w, 0);
  hgemm_bundle_plan* created = nullptr;
  const auto create = [&] {
    return hgemm_bundle_plan_create(bundle_, w.device, &problem, w.data, flags_, &created);
  };
  int status = create();
  if (status == HGEMM_BUNDLE_NOT_PREPARED && can_prepare(w.device, stream)) status = create();
  if (status != HGEMM_TUNED_OK) return nullptr;
  Plan plan(created, hgemm_bundle_plan_destroy);
  const std::unique_lock lock(plans_mutex_);
  if (plans_.size() >= kMostPlans) plans_.clear();  // calls that use one hold it
  return plans_.try_emplace(w, std::move(plan)).first->second;
}

bool Serving::falls_back(const Weight& weight, std::int64_t m) const {
  const hgemm_tuned_problem problem = problem_of(weight, m);
  return hgemm_bundle_status_of(bundle_, &problem, flags_) != HGEMM_TUNED_OK;
}

void Serving::count_fallbacks(const Weight& weight, std::int64_t m, std::int64_t count) {
  others_.fetch_add(count, std::memory_order_relaxed);
  const hgemm_tuned_problem problem = problem_of(weight, m);
  hgemm_bundle_count_misses(bundle_, &problem, flags_, count);
}

Serving::~Serving() {
  for (const auto& [key, workspace] : workspaces_) free_memory_of(*workspace, key.first);
}

void Serving::free_memory_of(const Workspace& workspace, std::int32_t device) {
  hgemm_bundle_free_workspace(bundle_, device, workspace.memory);
  for (void* memory : workspace.outgrown) hgemm_bundle_free_workspace(bundle_, device, memory);
}

std::shared_ptr<Serving::Workspace> Serving::workspace_of(std::int32_t device, void* stream) {
  const std::optional<std::uint64_t> id = id_of(stream);
  if (!id) return nullptr;
  const StreamKey key(device, *id);
  std::shared_ptr<Workspace> found, gone;
  StreamKey gone_key;
  {
    const std::lock_guard lock(workspaces_mutex_);
    if (is_handle_of_one(stream)) {
      StreamKey& last = streams_.try_emplace(stream, key).first->second;
      gone_key = std::exchange(last, key);
      if (gone_key != key) {  // a stream was destroyed, and this one has got its handle
        if (auto node = workspaces_.extract(gone_key)) gone = std::move(node.mapped());
      }
    }
    std::shared_ptr<Workspace>& kept = workspaces_[key];
    if (kept == nullptr) kept = std::make_shared<Workspace>();
    found = kept;
  }
  // Its launches may still run: freeing waits for them.
  if (gone != nullptr) free_memory_of(*gone, gone_key.first);
  return found;
}

bool Serving::launch_in_graph(hgemm_bundle_plan* plan, void* stream, std::int64_t m,
                              const hgemm_tuned_operands& operands, std::size_t bytes,
                              const Description& x) {
  // Graphs that were captured on one stream may run at the same time, so they share no workspace.
  const std::optional<Tensor> memory = empty_bytes(static_cast<std::int64_t>(bytes), x);
  if (!memory) return false;
  void* const workspace = data_of(*memory);
  const bool launched =
      hgemm_bundle_init_workspace(bundle_, x.device_index, stream, workspace, bytes) == 0 &&
      hgemm_bundle_plan_launch(plan, stream, m, &operands, workspace, bytes) == 0;
  // The graph has the memory from now on. torch may give it to other tensors.
  hgemm_bundle_forget_workspace(bundle_, x.device_index, workspace);
  return launched;
}

bool Serving::launch_with_workspace(hgemm_bundle_plan* plan, void* stream, std::int64_t m,
                                    const hgemm_tuned_operands& operands, std::size_t bytes,
                                    const Description& x) {
  if (is_capturing(stream)) return launch_in_graph(plan, stream, m, operands, bytes, x);
  const std::shared_ptr<Workspace> own = workspace_of(x.device_index, stream);
  if (own == nullptr) return false;
  Workspace& workspace = *own;
  const std::lock_guard lock(workspace.mutex);
  if (workspace.bytes < bytes) {
    const auto make = [&](std::size_t size, void** memory) {
      return hgemm_bundle_new_workspace(bundle_, x.device_index, stream, size, memory) == 0;
    };
    std::size_t larger = std::bit_ceil(bytes);  // it grows a few times only
    void* memory = nullptr;
    if (!make(larger, &memory)) {
      larger = bytes;
      if (!make(larger, &memory)) return false;
    }
    if (workspace.memory != nullptr) workspace.outgrown.push_back(workspace.memory);
    workspace.memory = memory;
    workspace.bytes = larger;
  }
  return hgemm_bundle_plan_launch(plan, stream, m, &operands, workspace.memory, workspace.bytes) ==
         HGEMM_TUNED_OK;
}

std::optional<Tensor> Serving::run(const Weight& weight, std::int64_t m, const Description& x,
                                   const void* bias) {
  void* stream = nullptr;
  require(torch().current_cuda_stream(x.device_index, &stream), "asking for the stream");
  const Plan plan = plan_of(weight, stream);
  if (plan == nullptr) return std::nullopt;
  hgemm_tuned_operands operands{};
  operands.a = x.data;
  operands.bias = bias;
  std::size_t bytes = 0;  // of any D of torch's, which are aligned
  if (hgemm_bundle_plan_workspace_bytes_at(plan.get(), m, &operands, &bytes) != HGEMM_TUNED_OK) {
    hgemm_bundle_plan_count_miss(plan.get(), m);
    return std::nullopt;
  }
  const std::int64_t columns = weight.gate == HGEMM_TUNED_NO_GATE ? weight.n : weight.n / 2;
  std::optional<Tensor> d = empty_with_last_size(x, columns);
  if (!d) return std::nullopt;  // torch, which then needs the same memory, has the error to raise
  operands.d = data_of(*d);
  const bool launched =
      bytes == 0 ? hgemm_bundle_plan_launch(plan.get(), stream, m, &operands, nullptr, 0) == 0
                 : launch_with_workspace(plan.get(), stream, m, operands, bytes, x);
  if (!launched) return std::nullopt;
  tuned_.fetch_add(1, std::memory_order_relaxed);
  return d;
}

}  // namespace hgemm_torch
