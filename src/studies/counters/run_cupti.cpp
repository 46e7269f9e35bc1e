#include "studies/counters/run_cupti.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>
#include <cupti_version.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "device/cupti_library.h"
#include "studies/counters/counter_set.h"

namespace hgemm {
namespace {

constexpr std::size_t kRanges = 1;

/// Advice about a refusal; empty if CUPTI's own text is all that is known.
std::string advice_for(CUptiResult code) {
  switch (code) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return "run as root or with CAP_SYS_ADMIN (of a container: --cap-add SYS_ADMIN), or have the "
             "administrator load the driver with NVreg_RestrictProfilingToAdminUsers=0";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "have profiling enabled for this virtual GPU, or use a whole one";
    case CUPTI_ERROR_HARDWARE_BUSY:
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "end the other profiler of this GPU (ncu, nsys, or DCGM: dcgmi profile --pause)";
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
      return "use a GPU that is not in this mode";
    default:
      return "see whether ncu can profile here; tuning needs no counters";
  }
}

/// The structure for a CUPTI call: zeroed, with its size member set. `Size` is the header's
/// <type>_STRUCT_SIZE: the size up to the last member, without padding.
template <class Params>
Params sized(std::size_t size) {
  Params params{};
  params.structSize = size;
  return params;
}

std::vector<const char*> pointers(std::span<const std::string> texts) {
  std::vector<const char*> result;
  for (const std::string& text : texts) result.push_back(text.c_str());
  return result;
}

/// The current context of this thread; nullptr if there is none. libcuda is not linked.
CUcontext current_context() {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult result{};
  if (cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &entry, 12000, cudaEnableDefault,
                                       &result) != cudaSuccess ||
      result != cudaDriverEntryPointSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  CUcontext context = nullptr;
  reinterpret_cast<decltype(&cuCtxGetCurrent)>(entry)(&context);
  return context;
}

}  // namespace

CountersUnavailable::CountersUnavailable(std::string why, std::string what_to_do)
    : InputError(fmt::format("{}: {}; {}", kCountersUnavailable, why, what_to_do)),
      reason(std::move(why)),
      advice(std::move(what_to_do)) {}

struct Cupti::Api {
  decltype(&cuptiGetVersion) get_version = nullptr;
  decltype(&cuptiGetResultString) get_result_string = nullptr;
  decltype(&cuptiGetErrorMessage) get_error_message = nullptr;
  decltype(&cuptiDeviceGetChipName) device_get_chip_name = nullptr;
  decltype(&cuptiProfilerInitialize) initialize = nullptr;
  decltype(&cuptiProfilerDeInitialize) deinitialize = nullptr;
  decltype(&cuptiProfilerDeviceSupported) device_supported = nullptr;
  decltype(&cuptiProfilerGetCounterAvailability) get_counter_availability = nullptr;
  decltype(&cuptiProfilerHostInitialize) host_initialize = nullptr;
  decltype(&cuptiProfilerHostDeinitialize) host_deinitialize = nullptr;
  decltype(&cuptiProfilerHostConfigAddMetrics) host_add_metrics = nullptr;
  decltype(&cuptiProfilerHostGetConfigImageSize) host_get_config_image_size = nullptr;
  decltype(&cuptiProfilerHostGetConfigImage) host_get_config_image = nullptr;
  decltype(&cuptiProfilerHostGetNumOfPasses) host_get_num_of_passes = nullptr;
  decltype(&cuptiProfilerHostEvaluateToGpuValues) host_evaluate = nullptr;
  decltype(&cuptiRangeProfilerEnable) enable = nullptr;
  decltype(&cuptiRangeProfilerDisable) disable = nullptr;
  decltype(&cuptiRangeProfilerGetCounterDataSize) get_counter_data_size = nullptr;
  decltype(&cuptiRangeProfilerCounterDataImageInitialize) initialize_counter_data = nullptr;
  decltype(&cuptiRangeProfilerSetConfig) set_config = nullptr;
  decltype(&cuptiRangeProfilerStart) start = nullptr;
  decltype(&cuptiRangeProfilerStop) stop = nullptr;
  decltype(&cuptiRangeProfilerPushRange) push_range = nullptr;
  decltype(&cuptiRangeProfilerPopRange) pop_range = nullptr;
  decltype(&cuptiRangeProfilerDecodeData) decode_data = nullptr;
  decltype(&cuptiRangeProfilerGetCounterDataInfo) get_counter_data_info = nullptr;

  Api() {
    std::string why;
    void* const library = load_cupti(why);
    if (library == nullptr) {
      throw CountersUnavailable(
          why, "install CUPTI of CUDA 13 or add its folder to LD_LIBRARY_PATH; tuning needs none");
    }
    const auto load = [library](const char* name, auto& function) {
      if (!find_function(library, name, reinterpret_cast<void**>(&function))) {
        throw CountersUnavailable(fmt::format("{} has no {}", kCuptiLibrary, name),
                                  "install CUPTI of CUDA 13");
      }
    };
    load("cuptiGetVersion", get_version);
    load("cuptiGetResultString", get_result_string);
    load("cuptiGetErrorMessage", get_error_message);
    load("cuptiDeviceGetChipName", device_get_chip_name);
    load("cuptiProfilerInitialize", initialize);
    load("cuptiProfilerDeInitialize", deinitialize);
    load("cuptiProfilerDeviceSupported", device_supported);
    load("cuptiProfilerGetCounterAvailability", get_counter_availability);
    load("cuptiProfilerHostInitialize", host_initialize);
    load("cuptiProfilerHostDeinitialize", host_deinitialize);
    load("cuptiProfilerHostConfigAddMetrics", host_add_metrics);
    load("cuptiProfilerHostGetConfigImageSize", host_get_config_image_size);
    load("cuptiProfilerHostGetConfigImage", host_get_config_image);
    load("cuptiProfilerHostGetNumOfPasses", host_get_num_of_passes);
    load("cuptiProfilerHostEvaluateToGpuValues", host_evaluate);
    load("cuptiRangeProfilerEnable", enable);
    load("cuptiRangeProfilerDisable", disable);
    load("cuptiRangeProfilerGetCounterDataSize", get_counter_data_size);
    load("cuptiRangeProfilerCounterDataImageInitialize", initialize_counter_data);
    load("cuptiRangeProfilerSetConfig", set_config);
    load("cuptiRangeProfilerStart", start);
    load("cuptiRangeProfilerStop", stop);
    load("cuptiRangeProfilerPushRange", push_range);
    load("cuptiRangeProfilerPopRange", pop_range);
    load("cuptiRangeProfilerDecodeData", decode_data);
    load("cuptiRangeProfilerGetCounterDataInfo", get_counter_data_info);
  }

  /// Throws CountersUnavailable with "<doing>: <CUPTI's name and text>" unless `code` is success.
  void check(CUptiResult code, const char* doing) const {
    if (code == CUPTI_SUCCESS) return;
    const char* name = nullptr;
    const char* message = nullptr;
    get_result_string(code, &name);
    get_error_message(code, &message);
    std::string why = fmt::format("{}: {} ({})", doing, name != nullptr ? name : "unknown error",
                                  static_cast<int>(code));
    if (message != nullptr && *message != '\0') why += fmt::format(", {}", message);
    throw CountersUnavailable(why, advice_for(code));
  }
};

/// Holds the profiler's hooks in the driver.
class Cupti::Started {
 public:
  explicit Started(const Api& api) : api_(api) {
    auto params =
        sized<CUpti_Profiler_Initialize_Params>(CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
    api_.check(api_.initialize(&params), "starting the profiler");
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;
  ~Started() {
    auto params =
        sized<CUpti_Profiler_DeInitialize_Params>(CUpti_Profiler_DeInitialize_Params_STRUCT_SIZE);
    api_.deinitialize(&params);
  }

  /// Names the modes of a GPU that cannot be profiled; Enable says only that it failed.
  void check_device() const {
    auto params = sized<CUpti_Profiler_DeviceSupported_Params>(
        CUpti_Profiler_DeviceSupported_Params_STRUCT_SIZE);
    params.api = CUPTI_PROFILER_RANGE_PROFILING;
    api_.check(api_.device_supported(&params), "asking whether the GPU can be profiled");
    if (params.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return;
    std::string modes;
    const auto note = [&](CUpti_Profiler_Support_Level level, const char* mode) {
      if (level == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return;
      modes += fmt::format("{}{}", modes.empty() ? "" : ", ", mode);
    };
    note(params.architecture, "its architecture");
    note(params.sli, "SLI");
    note(params.vGpu, "it is a virtual GPU");
    note(params.confidentialCompute, "confidential computing");
    note(params.cmp, "it is a mining processor");
    note(params.wsl, "WSL");
    throw CountersUnavailable(fmt::format("the GPU cannot be profiled ({})", modes),
                              advice_for(CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED));
  }

  std::string chip() const {
    auto params =
        sized<CUpti_Device_GetChipName_Params>(CUpti_Device_GetChipName_Params_STRUCT_SIZE);
    api_.check(api_.device_get_chip_name(&params), "asking for the chip's name");  // of device 0
    return params.pChipName;
  }

  /// The counters that this GPU has. It must be asked before a profiler is enabled on the context.
  std::vector<std::uint8_t> counter_availability(CUcontext context) const {
    auto params = sized<CUpti_Profiler_GetCounterAvailability_Params>(
        CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE);
    params.ctx = context;
    const char* const doing = "asking which counters there are";
    api_.check(api_.get_counter_availability(&params), doing);
    std::vector<std::uint8_t> image(params.counterAvailabilityImageSize);
    params.pCounterAvailabilityImage = image.data();
    api_.check(api_.get_counter_availability(&params), doing);
    return image;
  }

 private:
  const Api& api_;
};

/// Facts about metrics that need no GPU: their schedule, and their formulas from counters.
class Cupti::Host {
 public:
  Host(const Api& api, std::string chip, std::vector<std::uint8_t> availability = {})
      : api_(api), chip_(std::move(chip)), availability_(std::move(availability)) {
    auto params = sized<CUpti_Profiler_Host_Initialize_Params>(
        CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE);
    params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    params.pChipName = chip_.c_str();
    params.pCounterAvailabilityImage = availability_.empty() ? nullptr : availability_.data();
    api_.check(api_.host_initialize(&params), "looking up the chip's metrics");
    object_ = params.pHostObject;
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() {
    auto params = sized<CUpti_Profiler_Host_Deinitialize_Params>(
        CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE);
    params.pHostObject = object_;
    api_.host_deinitialize(&params);
  }

  /// Call it once. Throws Error that names a metric that the chip does not have.
  ///
  /// CUPTI schedules metrics in the given order. Sorted, counters of one unit are neighbours, and
  /// our metrics take 8 passes; in the order of the tables they take up to 10 (libcupti of CUDA
  /// 13.0).
  void add(std::span<const std::string> metrics) {
    std::vector<std::string> sorted(metrics.begin(), metrics.end());
    std::ranges::sort(sorted);
    if (try_add(sorted) == CUPTI_SUCCESS) return;
    for (const std::string& metric : metrics) {
      if (Host(api_, chip_, availability_).try_add({&metric, 1}) != CUPTI_SUCCESS) {
        throw Error(fmt::format("CUPTI has no metric {} for {}", metric, chip_));
      }
    }
    throw Error(fmt::format("CUPTI cannot schedule these {} metrics together", metrics.size()));
  }

  std::vector<std::uint8_t> config_image() const {
    auto size = sized<CUpti_Profiler_Host_GetConfigImageSize_Params>(
        CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE);
    size.pHostObject = object_;
    api_.check(api_.host_get_config_image_size(&size), "scheduling metrics");
    std::vector<std::uint8_t> image(size.configImageSize);
    auto params = sized<CUpti_Profiler_Host_GetConfigImage_Params>(
        CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE);
    params.pHostObject = object_;
    params.configImageSize = image.size();
    params.pConfigImage = image.data();
    api_.check(api_.host_get_config_image(&params), "scheduling metrics");
    return image;
  }

  int passes(std::vector<std::uint8_t>& config_image) const {
    auto params = sized<CUpti_Profiler_Host_GetNumOfPasses_Params>(
        CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE);
    params.configImageSize = config_image.size();
    params.pConfigImage = config_image.data();
    api_.check(api_.host_get_num_of_passes(&params), "counting passes");
    return static_cast<int>(params.numOfPasses);
  }

  std::vector<double> evaluate(const std::vector<std::uint8_t>& counter_data,
                               std::span<const std::string> metrics) const {
    std::vector<const char*> names = pointers(metrics);
    std::vector<double> values(names.size());
    auto params = sized<CUpti_Profiler_Host_EvaluateToGpuValues_Params>(
        CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE);
    params.pHostObject = object_;
    params.pCounterDataImage = counter_data.data();
    params.counterDataImageSize = counter_data.size();
    params.ppMetricNames = names.data();
    params.numMetrics = names.size();
    params.pMetricValues = values.data();
    api_.check(api_.host_evaluate(&params), "computing metrics from counters");
    return values;
  }

 private:
  CUptiResult try_add(std::span<const std::string> metrics) {
    std::vector<const char*> names = pointers(metrics);
    auto params = sized<CUpti_Profiler_Host_ConfigAddMetrics_Params>(
        CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE);
    params.pHostObject = object_;
    params.ppMetricNames = names.data();
    params.numMetrics = names.size();
    return api_.host_add_metrics(&params);
  }

  const Api& api_;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  CUpti_Profiler_Host_Object* object_ = nullptr;
};

/// Holds the range profiler of a context, enabled.
class Cupti::Profiler {
 public:
  Profiler(const Api& api, CUcontext context) : api_(api) {
    auto params =
        sized<CUpti_RangeProfiler_Enable_Params>(CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
    params.ctx = context;
    api_.check(api_.enable(&params), "enabling the range profiler");
    object_ = params.pRangeProfilerObject;
  }
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;
  ~Profiler() {
    auto params =
        sized<CUpti_RangeProfiler_Disable_Params>(CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
    params.pRangeProfilerObject = object_;
    api_.disable(&params);
  }

  /// A buffer for the counted data; the profiler keeps a reference to it.
  std::vector<std::uint8_t> counter_data(std::span<const std::string> metrics) const {
    std::vector<const char*> names = pointers(metrics);
    auto size = sized<CUpti_RangeProfiler_GetCounterDataSize_Params>(
        CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
    size.pRangeProfilerObject = object_;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxNumOfRanges = kRanges;
    size.maxNumRangeTreeNodes = kRanges;
    api_.check(api_.get_counter_data_size(&size), "sizing the counter data");
    std::vector<std::uint8_t> data(size.counterDataSize);
    auto params = sized<CUpti_RangeProfiler_CounterDataImage_Initialize_Params>(
        CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
    params.pRangeProfilerObject = object_;
    params.counterDataSize = data.size();
    params.pCounterData = data.data();
    api_.check(api_.initialize_counter_data(&params), "preparing the counter data");
    return data;
  }

  void configure(const std::vector<std::uint8_t>& config, std::vector<std::uint8_t>& data) const {
    auto params = sized<CUpti_RangeProfiler_SetConfig_Params>(
        CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
    params.pRangeProfilerObject = object_;
    params.configSize = config.size();
    params.pConfig = config.data();
    params.counterDataImageSize = data.size();
    params.pCounterDataImage = data.data();
    params.range = CUPTI_UserRange;
    params.replayMode = CUPTI_UserReplay;
    params.maxRangesPerPass = kRanges;
    params.numNestingLevels = 1;
    params.minNestingLevel = 1;
    params.passIndex = 0;
    params.targetNestingLevel = 1;
    api_.check(api_.set_config(&params), "configuring the range profiler");
  }

  /// Runs one pass over `launch`. Returns whether it was the last one.
  bool pass(const std::function<void()>& launch) const {
    auto start =
        sized<CUpti_RangeProfiler_Start_Params>(CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
    start.pRangeProfilerObject = object_;
    api_.check(api_.start(&start), "starting a pass");
    auto push = sized<CUpti_RangeProfiler_PushRange_Params>(
        CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE);
    push.pRangeProfilerObject = object_;
    push.pRangeName = "launch";
    api_.check(api_.push_range(&push), "beginning the range");
    launch();
    auto pop =
        sized<CUpti_RangeProfiler_PopRange_Params>(CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE);
    pop.pRangeProfilerObject = object_;
    api_.check(api_.pop_range(&pop), "ending the range");
    auto stop = sized<CUpti_RangeProfiler_Stop_Params>(CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
    stop.pRangeProfilerObject = object_;
    api_.check(api_.stop(&stop), "ending a pass");
    return stop.isAllPassSubmitted != 0;
  }

  /// Fills the counter data with the counts of all passes.
  void decode(const std::vector<std::uint8_t>& data) const {
    auto params = sized<CUpti_RangeProfiler_DecodeData_Params>(
        CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);
    params.pRangeProfilerObject = object_;
    api_.check(api_.decode_data(&params), "decoding counters");
    auto info = sized<CUpti_RangeProfiler_GetCounterDataInfo_Params>(
        CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE);
    info.pCounterDataImage = data.data();
    info.counterDataImageSize = data.size();
    api_.check(api_.get_counter_data_info(&info), "reading counter data");
    if (params.numOfRangeDropped != 0 || info.numTotalRanges != kRanges) {
      throw Error(fmt::format("CUPTI counted {} ranges and dropped {} instead of counting one",
                              info.numTotalRanges, params.numOfRangeDropped));
    }
  }

 private:
  const Api& api_;
  CUpti_RangeProfiler_Object* object_ = nullptr;
};

Cupti::Cupti() : api_(std::make_unique<Api>()) {}
Cupti::~Cupti() = default;

std::uint32_t Cupti::version() const {
  std::uint32_t version = 0;
  api_->check(api_->get_version(&version), "asking for CUPTI's version");
  return version;
}

int Cupti::passes(const std::string& chip, std::span<const std::string> metrics) const {
  Host host(*api_, chip);
  host.add(metrics);
  std::vector<std::uint8_t> config = host.config_image();
  return host.passes(config);
}

void Cupti::check_access() const {
  const CUcontext context = current_context();
  if (context == nullptr) throw CountersUnavailable("there is no GPU to ask", "see GPU");
  const Started started(*api_);
  started.check_device();
  started.counter_availability(context);
  const Profiler profiler(*api_, context);
}

std::vector<double> Cupti::measure(std::span<const std::string> metrics,
                                   const std::function<void()>& prepare,
                                   const std::function<void()>& launch) const {
  const CUcontext context = current_context();
  if (context == nullptr) throw CountersUnavailable("there is no CUDA context", "see doctor");
  const Started started(*api_);
  started.check_device();
  Host host(*api_, started.chip(), started.counter_availability(context));
  host.add(metrics);
  std::vector<std::uint8_t> config = host.config_image();
  const int passes = host.passes(config);

  std::vector<std::uint8_t> data;
  {
    const Profiler profiler(*api_, context);
    data = profiler.counter_data(metrics);
    profiler.configure(config, data);
    bool last = false;
    for (int pass = 0; !last; ++pass) {
      // Limits a profiler that never reports "all passes", so that it does not hang the worker.
      if (pass > 2 * passes) {
        throw Error(
            fmt::format("CUPTI is not done after {} passes, {} were planned", pass, passes));
      }
      prepare();
      last = profiler.pass(launch);
    }
    profiler.decode(data);
  }
  return host.evaluate(data, metrics);
}

Finding check_counters() {
  Finding finding{.part = "counters", .detail = "", .advice = "", .required = false};
  try {
    const Cupti cupti;
    finding.detail = fmt::format("CUPTI API {}", cupti.version());
    cupti.check_access();
    finding.ok = true;
  } catch (const CountersUnavailable& unavailable) {
    finding.detail += (finding.detail.empty() ? "" : "; ") + unavailable.reason;
    finding.advice = unavailable.advice;
  } catch (const Error& error) {
    finding.detail = error.what();
    finding.advice = "see the message";
  }
  return finding;
}

}  // namespace hgemm
