// Shared by all microbenchmarks: a kernel of a cubin with its launch shape, the times that it
// records, and figures from repetitions.
#pragma once

#include <cuda_runtime_api.h>

#include <span>
#include <string>
#include <vector>

#include "device/cuda.h"
#include "kernels/common/params.h"
#include "kernels/studies/micro/micro_params.h"
#include "studies/micro/points.h"
#include "worker/bench.h"

namespace hgemm {

struct MicroLaunch {
  int ctas = 1;
  int threads = 32;
  int cluster = 1;
  int smem_bytes = 0;
  /// Whether the next launch may begin before this one ends, also on the same SMs. (Others have an
  /// SM for each CTA.)
  bool overlaps = false;
};

class MicroKernel {
 public:
  /// Throws CudaError if the cubin, or the kernel in it, cannot be loaded.
  MicroKernel(const Cubin& cubin, const std::string& name, int smem_bytes);
  MicroKernel(const MicroKernel&) = delete;
  MicroKernel& operator=(const MicroKernel&) = delete;
  ~MicroKernel();

  /// CTAs that are resident at once: at most one per SM, in whole clusters.
  int resident_ctas(const MicroLaunch& launch, int sm_count) const;
  void enqueue(const MicroLaunch& launch, std::span<void* const> arguments,
               const Stream& stream) const;
  /// Launches the kernel and waits for its end.
  void run(const MicroLaunch& launch, std::span<void* const> arguments, const Stream& stream) const;

 private:
  cudaLibrary_t library_ = nullptr;
  cudaKernel_t kernel_ = nullptr;
};

/// The time records of `ctas` x `actors` in device memory.
class SectionTimes {
 public:
  SectionTimes(int ctas, int actors);
  micro::SectionTime* device() const { return memory_.as<micro::SectionTime>(); }
  void read();  ///< call it after the kernel has ended

  /// For each CTA, the cycles that its first `actors` actors took for a section, from the first
  /// start to the last stop.
  std::vector<double> cycles(int section, int actors) const;
  /// Nanoseconds from the first start of any CTA to the last stop of any.
  double ns(int section) const;
  const micro::SectionTime& at(int cta, int actor, int section) const;

 private:
  int ctas_, actors_;
  DeviceMemory memory_;
  std::vector<micro::SectionTime> times_;
};

/// (long - short) / (operations(long) - operations(short)), for the median CTA.
double cycles_per_operation(const SectionTimes& times, int actors, const micro::Lengths& lengths,
                            double operations_per_round);

/// Copies values from the device to the host.
template <class Value>
std::vector<Value> read_back(const DeviceMemory& memory, std::size_t count) {
  std::vector<Value> values(count);
  check(cudaMemcpy(values.data(), memory.data(), count * sizeof(Value), cudaMemcpyDeviceToHost),
        "reading results");
  return values;
}

inline constexpr int kMicroRepetitions = 9;  ///< after one that warms up

Figure figure(const std::string& metric, const std::string& unit,
              std::span<const double> repetitions);

/// Input and output of a runner. `wrong` describes an impossible result of the kernel; empty if
/// there is none.
struct MicroTask {
  const StudyRequest& request;
  const Cubin& cubin;
  const Bench& bench;
};
struct MicroOutcome {
  std::vector<Figure> figures;
  std::string wrong;
};

MicroOutcome measure(const WgmmaPoint& point, const MicroTask& task);
MicroOutcome measure(const PromotedPoint& point, const MicroTask& task);
MicroOutcome measure(const MmaPoint& point, const MicroTask& task);
MicroOutcome measure(const StmatrixPoint& point, const MicroTask& task);
MicroOutcome measure(const AccumulatorPoint& point, const MicroTask& task);
MicroOutcome measure(const ContentionPoint& point, const MicroTask& task);
MicroOutcome measure(const TmaPoint& point, const MicroTask& task);
MicroOutcome measure(const BulkPoint& point, const MicroTask& task);
MicroOutcome measure(const ReadPoint& point, const MicroTask& task);
MicroOutcome measure(const StreamPoint& point, const MicroTask& task);
MicroOutcome measure(const MbarrierPoint& point, const MicroTask& task);
MicroOutcome measure(const SmemPoint& point, const MicroTask& task);

/// A bf16 matrix in global memory. Either it fits in L2, or L2 holds only a small part of it.
struct MicroSource {
  DeviceMemory memory;
  std::int64_t bytes = 0;
};
inline constexpr int kSourceColumns = 4096;  ///< of a row, as a GEMM's K
MicroSource make_source(MemoryLevel level, const MicroTask& task);
TensorMap source_map(const MicroSource& source, int box_rows, int box_columns,
                     MicroSwizzle swizzle);

}  // namespace hgemm
