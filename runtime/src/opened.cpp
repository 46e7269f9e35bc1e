#include "opened.h"

#include <algorithm>
#include <utility>

namespace hgemm_runtime {

using namespace hgemm;

namespace {

int status_of_misfit(Misfit misfit) {
  switch (misfit) {
    case Misfit::kNone:
      return HGEMM_TUNED_OK;
    case Misfit::kCannotRun:
      return HGEMM_BUNDLE_CANNOT_RUN;
    case Misfit::kOldDriver:
      return HGEMM_BUNDLE_OLD_DRIVER;
    case Misfit::kOtherGpu:
      return HGEMM_BUNDLE_OTHER_GPU;
    case Misfit::kOtherDriver:
      return HGEMM_BUNDLE_OTHER_DRIVER;
  }
  return HGEMM_BUNDLE_CANNOT_RUN;
}

}  // namespace

OpenedBundle::OpenedBundle(Bundle bundle, std::string path)
    : content_(std::move(bundle)), path_(std::move(path)) {
  for (const BundleRow& row : content_.rows) {
    rows_.push_back({row.problem.extents(), row.problem.kind(), row.kernel, row.general_kernel,
                     row.gain, row.time_us, row.ratio, row.ratio_low, row.ratio_high});
  }
}

Choice OpenedBundle::choose(const ProblemExtents& p, const GemmKind& kind,
                            const Operands& operands) const {
  return hgemm_tuned_selection_rules::choose(
      rows_.data(), static_cast<int>(rows_.size()),
      [this](int i) -> const Kernel& { return kernel(i).kernel; }, p, kind, operands);
}

bool OpenedBundle::has_tuned(const ProblemExtents& p, const GemmKind& kind) const {
  return std::ranges::any_of(rows_, [&](const hgemm_tuned_table::Row& row) {
    return row.problem.n == p.n && row.problem.k == p.k &&
           hgemm_tuned_problems::compute_alike(row.kind, kind);
  });
}

hgemm_tuned_selection OpenedBundle::select(const hgemm_tuned_problem& problem) const {
  hgemm_tuned_selection selection = hgemm_tuned_selection_rules::no_selection();
  selection.status = hgemm_tuned_problems::check(&problem);
  if (selection.status != HGEMM_TUNED_OK) return selection;
  const ProblemExtents p = hgemm_tuned_problems::extents_of(problem);
  if (why_unsupported(p) != nullptr) {
    selection.status = HGEMM_TUNED_BAD_PROBLEM;
    return selection;
  }
  const Choice choice = choose(p, hgemm_tuned_problems::kind_of(problem), {});
  selection.status = choice.status;
  if (choice.row == nullptr) return selection;
  hgemm_tuned_selection_rules::describe(choice, kernel(choice.kernel).label.c_str(), &selection);
  return selection;
}

int OpenedBundle::status_of(const Choice& choice, const ProblemExtents& p, const GemmKind& kind,
                            bool only_gains) const {
  if (choice.row == nullptr || !only_gains) return choice.status;
  // All its kernels give the same bits, and another library would not: at every M or at none.
  if (content_.batch_invariant) {
    return has_tuned(p, kind) ? int{choice.status} : HGEMM_BUNDLE_NOT_TUNED;
  }
  // A kernel of a smaller M, or of another N and K, was never timed on such a problem.
  const bool is_near =
      choice.source == HGEMM_TUNED_EXACT ||
      (choice.source == HGEMM_TUNED_BUCKET && is_in_bucket(choice.row->problem.m, p.m));
  if (!is_near) return HGEMM_BUNDLE_NOT_TUNED;
  return choice.row->gain ? int{HGEMM_TUNED_OK} : int{HGEMM_BUNDLE_NO_GAIN};
}

int OpenedBundle::status_of(const hgemm_tuned_problem& problem, bool only_gains) const {
  if (const int status = hgemm_tuned_problems::check(&problem); status != HGEMM_TUNED_OK) {
    return status;
  }
  const ProblemExtents p = hgemm_tuned_problems::extents_of(problem);
  if (why_unsupported(p) != nullptr) return HGEMM_TUNED_BAD_PROBLEM;
  const GemmKind kind = hgemm_tuned_problems::kind_of(problem);
  return status_of(choose(p, kind, {}), p, kind, only_gains);
}

void OpenedBundle::count_misses(const hgemm_tuned_problem& problem, bool only_gains,
                                long long count) {
  if (!is_miss(status_of(problem, only_gains))) return;
  const GemmProblem missed = gemm_problem(hgemm_tuned_problems::extents_of(problem),
                                          hgemm_tuned_problems::kind_of(problem));
  misses_.counter_of(missed).fetch_add(count, std::memory_order_relaxed);
}

Outcome OpenedBundle::check(const DeviceFacts& device, unsigned flags) const {
  Validity accepted = content_.validity;
  if ((flags & HGEMM_BUNDLE_ANY_GPU) != 0) {
    accepted.gpu_name = device.gpu_name;
    accepted.sm_count = device.sm_count;
  }
  if ((flags & HGEMM_BUNDLE_ANY_DRIVER) != 0) {
    accepted.driver_min = accepted.driver_max = device.driver;
  }
  const DeviceFit fit = fit_of(accepted, content_.compiler, device);
  return {status_of_misfit(fit.misfit), fit.reason};
}

Outcome OpenedBundle::prepare(int ordinal, unsigned flags) {
  std::string why_not;
  const Driver* const driver = find_driver(&why_not);
  if (driver == nullptr) return {HGEMM_BUNDLE_NO_DRIVER, why_not};
  CUdevice device = 0;
  if (const CUresult code = driver->device(&device, ordinal); code != CUDA_SUCCESS) {
    return driver_failed(*driver, code, "looking for the device");
  }
  const std::lock_guard lock(mutex_);
  if (const auto found = devices_.find(ordinal); found != devices_.end()) {
    if (found->second->is_alive()) return {};
    return {HGEMM_BUNDLE_NOT_PREPARED, "the device was reset: close the bundle and open it again"};
  }
  const RelaxedCapture relaxed(*driver);
  DeviceFacts facts;
  if (const CUresult code = facts_of(*driver, device, &facts); code != CUDA_SUCCESS) {
    return driver_failed(*driver, code, "asking what the device is");
  }
  if (Outcome fit = check(facts, flags); !fit.is_ok()) return fit;
  if (libraries_ == nullptr) libraries_ = std::make_unique<Libraries>(*driver);
  if (Outcome loaded = libraries_->load(content_.kernels); !loaded.is_ok()) return loaded;
  auto prepared = std::make_unique<LoadedDevice>(*driver, device);
  if (Outcome loaded = prepared->load(content_.kernels, *libraries_); !loaded.is_ok()) {
    return loaded;
  }
  devices_[ordinal] = std::move(prepared);
  return {};
}

LoadedDevice* OpenedBundle::device(int ordinal) const {
  const std::lock_guard lock(mutex_);
  const auto found = devices_.find(ordinal);
  return found != devices_.end() ? found->second.get() : nullptr;
}

}  // namespace hgemm_runtime
