// The C interface: it checks arguments, and turns outcomes and exceptions into statuses.
#include "hgemm_bundle.h"

#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "opened.h"
#include "plan.h"
#include "status_text.h"

struct hgemm_bundle {
  hgemm_runtime::OpenedBundle opened;
};
struct hgemm_bundle_plan {
  hgemm_runtime::Plan plan;
};

namespace {

using namespace hgemm_runtime;

thread_local std::string last_error;

int report(Outcome outcome) {
  if (outcome.is_ok()) return outcome.status;
  if (outcome.text.empty()) {
    last_error = hgemm_bundle_status_string(outcome.status);
  } else {
    last_error = std::move(outcome.text);
  }
  return outcome.status;
}

int status_of(hgemm::BundleFault fault) {
  switch (fault) {
    case hgemm::BundleFault::kNotABundle:
      return HGEMM_BUNDLE_NOT_A_BUNDLE;
    case hgemm::BundleFault::kOtherVersion:
      return HGEMM_BUNDLE_OTHER_VERSION;
    case hgemm::BundleFault::kDamaged:
      return HGEMM_BUNDLE_DAMAGED;
  }
  return HGEMM_BUNDLE_DAMAGED;
}

/// Runs `act`, which returns an Outcome. No exception may leave a C interface.
template <class Act>
int guarded(const Act& act) noexcept {
  try {
    try {
      return report(act());
    } catch (const hgemm::BundleError& error) {
      return report({status_of(error.fault), error.what()});
    } catch (const hgemm::InputError& error) {
      return report({HGEMM_BUNDLE_NO_FILE, error.what()});
    } catch (const std::bad_alloc&) {
      return report({HGEMM_BUNDLE_NO_MEMORY});
    } catch (const std::exception& error) {
      return report({HGEMM_BUNDLE_BAD_ARGUMENT, error.what()});
    }
  } catch (...) {
    return HGEMM_BUNDLE_NO_MEMORY;  // there was none for the message
  }
}

hgemm::DeviceFacts facts_of(const hgemm_bundle_device& device) {
  return {.gpu_name = device.gpu_name != nullptr ? device.gpu_name : "",
          .compute_major = device.compute_major,
          .compute_minor = device.compute_minor,
          .sm_count = device.sm_count,
          .driver = device.driver != nullptr ? device.driver : "",
          .driver_cuda = device.driver_cuda};
}

}  // namespace

int hgemm_bundle_abi(void) { return HGEMM_BUNDLE_ABI; }

const char* hgemm_bundle_status_string(int status) {
  switch (status) {
    case HGEMM_BUNDLE_NO_FILE:
      return "the file cannot be read";
    case HGEMM_BUNDLE_NOT_A_BUNDLE:
      return "the file is no bundle";
    case HGEMM_BUNDLE_DAMAGED:
      return "the bundle is damaged";
    case HGEMM_BUNDLE_OTHER_VERSION:
      return "another version of hgemm-tune wrote the bundle";
    case HGEMM_BUNDLE_NO_DRIVER:
      return "there is no NVIDIA driver, or it finds no GPU";
    case HGEMM_BUNDLE_CANNOT_RUN:
      return "the GPU cannot run the kernels: it is not an sm_90";
    case HGEMM_BUNDLE_OLD_DRIVER:
      return "the driver is older than the CUDA that made the kernels";
    case HGEMM_BUNDLE_OTHER_GPU:
      return "the kernels were chosen on another GPU";
    case HGEMM_BUNDLE_OTHER_DRIVER:
      return "the kernels were measured with another branch of the driver";
    case HGEMM_BUNDLE_NOT_PREPARED:
      return "hgemm_bundle_prepare() was not called for the device, or the device was reset since: "
             "prepare it, or close the bundle and open it again";
    case HGEMM_BUNDLE_NO_GAIN:
      return "the kernel for this problem was not measured to be faster than cuBLAS";
    case HGEMM_BUNDLE_DRIVER_ERROR:
      return "the driver refused a call: see hgemm_bundle_error()";
    case HGEMM_BUNDLE_SMALL_BUFFER:
      return "the buffer is too small for the text";
    case HGEMM_BUNDLE_BAD_ARGUMENT:
      return "an argument is out of its range";
    case HGEMM_BUNDLE_NO_MEMORY:
      return "there is not enough memory";
    case HGEMM_BUNDLE_NOT_TUNED:
      return "no problem near this one was tuned";
    default:
      return hgemm_tuned_problems::text_of(status);
  }
}

const char* hgemm_bundle_error(void) { return last_error.c_str(); }

int hgemm_bundle_open(const char* path, hgemm_bundle** bundle) {
  if (path == nullptr || bundle == nullptr) return report({HGEMM_TUNED_NULL_POINTER});
  *bundle = nullptr;
  return guarded([&]() -> Outcome {
    *bundle = new hgemm_bundle{OpenedBundle(hgemm::read_bundle(path), path)};
    return {};
  });
}

void hgemm_bundle_close(hgemm_bundle* bundle) { delete bundle; }

const char* hgemm_bundle_manifest(const hgemm_bundle* bundle) {
  return bundle != nullptr ? bundle->opened.content().manifest.c_str() : "";
}

int hgemm_bundle_shape_count(const hgemm_bundle* bundle) {
  return bundle != nullptr ? static_cast<int>(bundle->opened.rows().size()) : 0;
}

int hgemm_bundle_shape(const hgemm_bundle* bundle, int index, hgemm_tuned_problem* problem) {
  if (bundle == nullptr || problem == nullptr) return report({HGEMM_TUNED_NULL_POINTER});
  if (index < 0 || index >= hgemm_bundle_shape_count(bundle)) {
    return report({HGEMM_BUNDLE_BAD_ARGUMENT});
  }
  const auto& row = bundle->opened.rows()[static_cast<std::size_t>(index)];
  *problem = hgemm_tuned_problems::problem_of(row.problem, row.kind);
  return HGEMM_TUNED_OK;
}

int hgemm_bundle_select(const hgemm_bundle* bundle, const hgemm_tuned_problem* problem,
                        hgemm_tuned_selection* selection) {
  if (bundle == nullptr || problem == nullptr || selection == nullptr) {
    return report({HGEMM_TUNED_NULL_POINTER});
  }
  return guarded([&]() -> Outcome {
    *selection = bundle->opened.select(*problem);
    return {selection->status};
  });
}

int hgemm_bundle_check(const hgemm_bundle* bundle, const hgemm_bundle_device* device,
                       unsigned flags) {
  if (bundle == nullptr || device == nullptr) return report({HGEMM_TUNED_NULL_POINTER});
  return guarded([&] { return bundle->opened.check(facts_of(*device), flags); });
}

int hgemm_bundle_prepare(hgemm_bundle* bundle, int device, unsigned flags) {
  if (bundle == nullptr) return report({HGEMM_TUNED_NULL_POINTER});
  return guarded([&] { return bundle->opened.prepare(device, flags); });
}

int hgemm_bundle_plan_create(hgemm_bundle* bundle, int device, const hgemm_tuned_problem* problem,
                             const void* b, unsigned flags, hgemm_bundle_plan** plan) {
  if (bundle == nullptr || problem == nullptr || b == nullptr || plan == nullptr) {
    return report({HGEMM_TUNED_NULL_POINTER});
  }
  *plan = nullptr;
  return guarded([&]() -> Outcome {
    if (const int status = hgemm_tuned_problems::check(problem); status != HGEMM_TUNED_OK) {
      return {status};
    }
    LoadedDevice* const loaded = bundle->opened.device(device);
    if (loaded == nullptr || !loaded->is_alive()) return {HGEMM_BUNDLE_NOT_PREPARED};
    const bool only_gains = (flags & HGEMM_BUNDLE_ONLY_GAINS) != 0;
    *plan = new hgemm_bundle_plan{Plan(bundle->opened, *loaded, *problem, b, only_gains)};
    return {};
  });
}

void hgemm_bundle_plan_destroy(hgemm_bundle_plan* plan) { delete plan; }

int hgemm_bundle_plan_workspace_bytes(hgemm_bundle_plan* plan, int64_t m, size_t* bytes) {
  if (plan == nullptr || bytes == nullptr) return report({HGEMM_TUNED_NULL_POINTER});
  *bytes = 0;
  return guarded([&] { return plan->plan.workspace_bytes(m, {}, bytes); });
}

int hgemm_bundle_plan_workspace_bytes_at(hgemm_bundle_plan* plan, int64_t m,
                                         const hgemm_tuned_operands* operands, size_t* bytes) {
  if (plan == nullptr || operands == nullptr || bytes == nullptr) {
    return report({HGEMM_TUNED_NULL_POINTER});
  }
  *bytes = 0;
  return guarded([&] { return plan->plan.workspace_bytes(m, *operands, bytes); });
}

int hgemm_bundle_status_of(const hgemm_bundle* bundle, const hgemm_tuned_problem* problem,
                           unsigned flags) {
  if (bundle == nullptr || problem == nullptr) return report({HGEMM_TUNED_NULL_POINTER});
  return guarded([&]() -> Outcome {
    return {bundle->opened.status_of(*problem, (flags & HGEMM_BUNDLE_ONLY_GAINS) != 0)};
  });
}

int hgemm_bundle_count_misses(hgemm_bundle* bundle, const hgemm_tuned_problem* problem,
                              unsigned flags, int64_t count) {
  if (bundle == nullptr || problem == nullptr) return report({HGEMM_TUNED_NULL_POINTER});
  return guarded([&]() -> Outcome {
    bundle->opened.count_misses(*problem, (flags & HGEMM_BUNDLE_ONLY_GAINS) != 0, count);
    return {};
  });
}

int hgemm_bundle_plan_count_miss(hgemm_bundle_plan* plan, int64_t m) {
  if (plan == nullptr) return report({HGEMM_TUNED_NULL_POINTER});
  return guarded([&] {
    plan->plan.count_miss(m);
    return Outcome{};
  });
}

int hgemm_bundle_init_workspace(hgemm_bundle* bundle, int device, void* stream, void* workspace,
                                size_t bytes) {
  if (bytes == 0) return HGEMM_TUNED_OK;
  if (bundle == nullptr || workspace == nullptr) return report({HGEMM_TUNED_NULL_POINTER});
  return guarded([&]() -> Outcome {
    LoadedDevice* const loaded = bundle->opened.device(device);
    if (loaded == nullptr || !loaded->is_alive()) return {HGEMM_BUNDLE_NOT_PREPARED};
    return loaded->init_workspace(static_cast<CUstream>(stream), workspace, bytes);
  });
}

int hgemm_bundle_forget_workspace(hgemm_bundle* bundle, int device, const void* workspace) {
  if (bundle == nullptr) return report({HGEMM_TUNED_NULL_POINTER});
  return guarded([&]() -> Outcome {
    LoadedDevice* const loaded = bundle->opened.device(device);
    if (loaded == nullptr) return {HGEMM_BUNDLE_NOT_PREPARED};
    loaded->forget_workspace(workspace);
    return {};
  });
}

int hgemm_bundle_new_workspace(hgemm_bundle* bundle, int device, void* stream, size_t bytes,
                               void** workspace) {
  if (bundle == nullptr || workspace == nullptr) return report({HGEMM_TUNED_NULL_POINTER});
  *workspace = nullptr;
  if (bytes == 0) return HGEMM_TUNED_OK;
  return guarded([&]() -> Outcome {
    LoadedDevice* const loaded = bundle->opened.device(device);
    if (loaded == nullptr || !loaded->is_alive()) return {HGEMM_BUNDLE_NOT_PREPARED};
    return loaded->new_workspace(static_cast<CUstream>(stream), bytes, workspace);
  });
}

int hgemm_bundle_free_workspace(hgemm_bundle* bundle, int device, void* workspace) {
  if (workspace == nullptr) return HGEMM_TUNED_OK;
  if (bundle == nullptr) return report({HGEMM_TUNED_NULL_POINTER});
  return guarded([&]() -> Outcome {
    LoadedDevice* const loaded = bundle->opened.device(device);
    // A reset has freed it.
    if (loaded == nullptr || !loaded->is_alive()) return {HGEMM_BUNDLE_NOT_PREPARED};
    return loaded->free_workspace(workspace);
  });
}

int hgemm_bundle_plan_launch(hgemm_bundle_plan* plan, void* stream, int64_t m,
                             const hgemm_tuned_operands* operands, void* workspace,
                             size_t workspace_bytes) {
  if (plan == nullptr || operands == nullptr) return report({HGEMM_TUNED_NULL_POINTER});
  return guarded([&] {
    return plan->plan.launch(static_cast<CUstream>(stream), m, *operands, workspace,
                             workspace_bytes);
  });
}

int hgemm_bundle_misses(const hgemm_bundle* bundle, char* text, size_t capacity, size_t* bytes) {
  if (bundle == nullptr || bytes == nullptr || (text == nullptr && capacity > 0)) {
    return report({HGEMM_TUNED_NULL_POINTER});
  }
  return guarded([&]() -> Outcome {
    const std::string all = bundle->opened.misses_text();
    *bytes = all.size() + 1;
    if (capacity < *bytes) return {HGEMM_BUNDLE_SMALL_BUFFER};
    std::memcpy(text, all.c_str(), *bytes);
    return {};
  });
}
