// The bundle that the operators take kernels from, with what they keep between calls: a plan for
// each weight and a workspace for each stream.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hgemm_bundle.h"
#include "tensor.h"

namespace hgemm_torch {

/// A product without its number of rows. Address, extents, types and device are all that a plan is
/// made of. So it serves whatever tensor lies there, also after the first one was freed.
struct Weight {
  const void* data = nullptr;
  std::int32_t device = 0;
  std::int64_t n = 0, k = 0, lda = 0, ldb = 0;
  /// As hgemm_tuned_problem has them.
  std::int32_t dtype = 0, layout = 0, bias = 0, activation = 0, gate = 0;

  bool operator==(const Weight&) const = default;
};
struct WeightHash {
  std::size_t operator()(const Weight& weight) const;
};

class Serving {
 public:
  /// The bundle must stay open. A device is prepared at its first call, unless that is captured.
  Serving(hgemm_bundle* bundle, bool only_gains)
      : bundle_(bundle), flags_(only_gains ? static_cast<unsigned>(HGEMM_BUNDLE_ONLY_GAINS) : 0u) {}
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;
  ~Serving();

  /// The whole result, in a new tensor; none if torch is to compute it. `bias` may be null.
  std::optional<Tensor> run(const Weight& weight, std::int64_t m, const Description& x,
                            const void* bias);
  /// Whether torch computes a product whose operands lie at multiples of 16 bytes. Devices that the
  /// bundle is not for are not asked.
  bool falls_back(const Weight& weight, std::int64_t m) const;
  /// Counts calls that torch computed without being asked for them here.
  void count_fallbacks(const Weight& weight, std::int64_t m, std::int64_t count);
  void count_other() { others_.fetch_add(1, std::memory_order_relaxed); }
  long long tuned_calls() const { return tuned_.load(std::memory_order_relaxed); }
  long long other_calls() const { return others_.load(std::memory_order_relaxed); }

 private:
  using Plan = std::shared_ptr<hgemm_bundle_plan>;
  /// Not memory of torch's allocator, which wants to know all that lies in the pools of its graphs.
  struct Workspace {
    std::mutex mutex;
    void* memory = nullptr;
    std::size_t bytes = 0;
    std::vector<void*> outgrown;  ///< which launches may still use
  };
  using StreamKey = std::pair<std::int32_t, std::uint64_t>;  ///< a device, and a stream's id
  Plan plan_of(const Weight& weight, void* stream);
  bool can_prepare(std::int32_t device, void* stream);
  bool launch_in_graph(hgemm_bundle_plan* plan, void* stream, std::int64_t m,
                       const hgemm_tuned_operands& operands, std::size_t bytes,
                       const Description& x);
  /// Null if it is not known which stream it is.
  std::shared_ptr<Workspace> workspace_of(std::int32_t device, void* stream);
  void free_memory_of(const Workspace& workspace, std::int32_t device);
  bool launch_with_workspace(hgemm_bundle_plan* plan, void* stream, std::int64_t m,
                             const hgemm_tuned_operands& operands, std::size_t bytes,
                             const Description& x);

  hgemm_bundle* bundle_;
  unsigned flags_;
  std::atomic<long long> tuned_{0}, others_{0};
  std::shared_mutex plans_mutex_;
  std::unordered_map<Weight, Plan, WeightHash> plans_;
  std::mutex devices_mutex_;
  std::set<std::int32_t> tried_devices_;  ///< those that were prepared, or cannot be
  std::mutex workspaces_mutex_;
  std::map<StreamKey, std::shared_ptr<Workspace>> workspaces_;
  std::map<void*, StreamKey> streams_;  ///< the last stream with a handle
};

}  // namespace hgemm_torch
