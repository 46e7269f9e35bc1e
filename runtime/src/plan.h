// A weight's plan: for each M the kernel, its grid and B's tensor map, found once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "opened.h"
#include "workspace_layout.h"

namespace hgemm_runtime {

class Plan {
 public:
  /// `problem` has passed check() of problems.h with any m.
  Plan(OpenedBundle& bundle, LoadedDevice& device, const hgemm_tuned_problem& problem,
       const void* b, bool only_gains)
      : bundle_(bundle), device_(device), problem_(problem), b_(b), only_gains_(only_gains) {}

  Outcome workspace_bytes(std::int64_t m, const hgemm_tuned_operands& operands, std::size_t* bytes);
  void count_miss(std::int64_t m);
  Outcome launch(CUstream stream, std::int64_t m, const hgemm_tuned_operands& operands,
                 void* workspace, std::size_t workspace_bytes);

 private:
  /// What decides on a kernel: the rows, and by how much each operand misses a multiple of 16
  /// bytes.
  struct Key {
    std::int64_t m = 0;
    std::uint64_t offsets = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  /// What does not change between launches with the same key.
  struct Entry {
    int status = HGEMM_TUNED_OK;  ///< why nothing is launched
    Choice choice;
    hgemm::ProblemExtents extents;
    int ctas = 0;
    hgemm_tuned_table::WorkspaceLayout layout;
    Misses::Counter* misses = nullptr;  ///< if it is a miss
    bool has_b = false;                 ///< B's map is below
    hgemm::TensorMap b;
  };
  /// The operands with the plan's own B.
  hgemm::Operands with_b(const hgemm_tuned_operands& operands) const;
  /// If the entry is not kept, it lies in `own`.
  const Entry& entry_of(std::int64_t m, const hgemm::Operands& operands,
                        std::unique_ptr<Entry>& own);
  std::unique_ptr<Entry> make_entry(std::int64_t m, const hgemm::Operands& operands) const;
  hgemm::TensorMap encode(const Entry& entry, const hgemm::MatrixMap& map, bool* ok) const;
  Outcome enqueue(const Entry& entry, CUstream stream, const hgemm::Operands& operands,
                  void* workspace) const;

  OpenedBundle& bundle_;
  LoadedDevice& device_;
  hgemm_tuned_problem problem_;
  const void* b_;
  bool only_gains_;
  std::shared_mutex mutex_;
  std::unordered_map<Key, std::unique_ptr<Entry>, KeyHash> entries_;  ///< none is removed
};

}  // namespace hgemm_runtime
