// What the microbenchmarks share: a kernel of a cubin with its launch shape, the times that it
// leaves, and figures made of repetitions.
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
};

class MicroKernel {
 public:
  /// Throws CudaError if the cubin, or the kernel in it, cannot be loaded.
  MicroKernel(const Cubin& cubin, const std::string& name, int smem_bytes);
  MicroKernel(const MicroKernel&) = delete;
  MicroKernel& operator=(const MicroKernel&) = delete;
  ~MicroKernel();

  /// As many CTAs as there is room for at once, one per SM at most, in whole clusters.
  int resident_ctas(const MicroLaunch& launch, int sm_count) const;
  /// Launches and waits.
  void run(const MicroLaunch& launch, std::span<void* const> arguments, const Stream& stream) const;

 private:
  cudaLibrary_t library_ = nullptr;
  cudaKernel_t kernel_ = nullptr;
};

/// The records of `ctas` x `actors` in device memory.
class SectionTimes {
 public:
  SectionTimes(int ctas, int actors);
  micro::SectionTime* device() const { return memory_.as<micro::SectionTime>(); }
  void read();  ///< after the kernel has ended

  /// Cycles that each CTA's `actors` first took for a section, from the first start to the last
  /// stop.
  std::vector<double> cycles(int section, int actors) const;
  /// From the first start of a CTA to the last stop of any.
  double ns(int section) const;
  const micro::SectionTime& at(int cta, int actor, int section) const;

 private:
  int ctas_, actors_;
  DeviceMemory memory_;
  std::vector<micro::SectionTime> times_;
};

/// Of the median CTA: (long - short) / (operations(long) - operations(short)).
double cycles_per_operation(const SectionTimes& times, int actors, const micro::Lengths& lengths,
                            double operations_per_round);

/// Device to host.
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

/// What a runner gets, and what it finds out. `wrong` says what of the kernel's results cannot be.
struct MicroTask {
  const StudyRequest& request;
  const Cubin& cubin;
  const Bench& bench;
  const Stream& stream;
};
struct MicroOutcome {
  std::vector<Figure> figures;
  std::string wrong;
};

MicroOutcome measure(const WgmmaPoint& point, const MicroTask& task);
MicroOutcome measure(const MmaPoint& point, const MicroTask& task);
MicroOutcome measure(const StmatrixPoint& point, const MicroTask& task);
MicroOutcome measure(const ContentionPoint& point, const MicroTask& task);
MicroOutcome measure(const TmaPoint& point, const MicroTask& task);
MicroOutcome measure(const BulkPoint& point, const MicroTask& task);
MicroOutcome measure(const ReadPoint& point, const MicroTask& task);
MicroOutcome measure(const MbarrierPoint& point, const MicroTask& task);
MicroOutcome measure(const SmemPoint& point, const MicroTask& task);

/// A matrix of bf16 in global memory that the L2 holds, or that it holds a small part of.
struct MicroSource {
  DeviceMemory memory;
  std::int64_t bytes = 0;
};
inline constexpr int kSourceColumns = 4096;  ///< of a row: a GEMM's K
MicroSource make_source(MemoryLevel level, const MicroTask& task);
TensorMap source_map(const MicroSource& source, int box_rows, int box_columns,
                     MicroSwizzle swizzle);

}  // namespace hgemm
