#include "studies/micro/run_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/statistics.h"
#include "device/data_kernels.h"
#include "device/library.h"
#include "device/tensor_map.h"

namespace hgemm {
namespace {

/// Least shared memory of a CTA: more than half of an SM's, so that no SM gets two CTAs while
/// another has none.
constexpr int kOnePerSmBytes = 120 * 1024;

using Attributes = std::array<cudaLaunchAttribute, 2>;

cudaLaunchConfig_t launch_config(const MicroLaunch& launch, cudaStream_t stream,
                                 Attributes& attributes) {
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {static_cast<unsigned>(launch.cluster), 1, 1};
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(launch.ctas));
  config.blockDim = dim3(static_cast<unsigned>(launch.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(
      launch.overlaps ? launch.smem_bytes : std::max(launch.smem_bytes, kOnePerSmBytes));
  config.stream = stream;
  config.attrs = attributes.data();
  config.numAttrs = launch.overlaps ? 2 : 1;
  return config;
}

}  // namespace

MicroKernel::MicroKernel(const Cubin& cubin, const std::string& name, int smem_bytes) {
  library_ = load_library(cubin);
  try {
    check(cudaLibraryGetKernel(&kernel_, library_, name.c_str()), ("looking for " + name).c_str());
    check(cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               std::max(smem_bytes, kOnePerSmBytes)),
          "reserving shared memory");
  } catch (...) {
    cudaLibraryUnload(library_);
    throw;
  }
}

MicroKernel::~MicroKernel() { cudaLibraryUnload(library_); }

int MicroKernel::resident_ctas(const MicroLaunch& launch, int sm_count) const {
  MicroLaunch one = launch;
  one.ctas = launch.cluster;
  Attributes attributes{};
  const cudaLaunchConfig_t config = launch_config(one, nullptr, attributes);
  int clusters = 0;
  check(cudaOccupancyMaxActiveClusters(&clusters, kernel_, &config),
        "asking how many clusters are resident");
  if (clusters < 1) throw Error("the GPU cannot hold one cluster of this kernel");
  return std::min(clusters, sm_count / launch.cluster) * launch.cluster;
}

void MicroKernel::enqueue(const MicroLaunch& launch, std::span<void* const> arguments,
                          const Stream& stream) const {
  Attributes attributes{};
  const cudaLaunchConfig_t config = launch_config(launch, stream.get(), attributes);
  std::vector<void*> copies(arguments.begin(), arguments.end());
  check(cudaLaunchKernelExC(&config, kernel_, copies.data()), "launching a microbenchmark");
}

void MicroKernel::run(const MicroLaunch& launch, std::span<void* const> arguments,
                      const Stream& stream) const {
  enqueue(launch, arguments, stream);
  stream.synchronize();
}

SectionTimes::SectionTimes(int ctas, int actors)
    : ctas_(ctas),
      actors_(actors),
      memory_(static_cast<std::size_t>(ctas * actors * micro::kSections) *
              sizeof(micro::SectionTime)) {}

void SectionTimes::read() {
  times_ = read_back<micro::SectionTime>(
      memory_, static_cast<std::size_t>(ctas_ * actors_ * micro::kSections));
}

const micro::SectionTime& SectionTimes::at(int cta, int actor, int section) const {
  return times_.at(static_cast<std::size_t>((cta * actors_ + actor) * micro::kSections + section));
}

std::vector<double> SectionTimes::cycles(int section, int actors) const {
  std::vector<double> result;
  for (int cta = 0; cta < ctas_; ++cta) {
    auto start = at(cta, 0, section).start_clk;
    auto stop = at(cta, 0, section).stop_clk;
    for (int actor = 1; actor < actors; ++actor) {
      start = std::min(start, at(cta, actor, section).start_clk);
      stop = std::max(stop, at(cta, actor, section).stop_clk);
    }
    result.push_back(static_cast<double>(stop - start));
  }
  return result;
}

double SectionTimes::ns(int section) const {
  auto start = at(0, 0, section).start_ns;
  auto stop = at(0, 0, section).stop_ns;
  for (int cta = 1; cta < ctas_; ++cta) {
    start = std::min(start, at(cta, 0, section).start_ns);
    stop = std::max(stop, at(cta, 0, section).stop_ns);
  }
  return static_cast<double>(stop - start);
}

double cycles_per_operation(const SectionTimes& times, int actors, const micro::Lengths& lengths,
                            double operations_per_round) {
  const std::vector<double> shorter = times.cycles(micro::kShort, actors);
  std::vector<double> slopes = times.cycles(micro::kLong, actors);
  const double operations =
      operations_per_round * (lengths.count[micro::kLong] - lengths.count[micro::kShort]);
  for (std::size_t cta = 0; cta < slopes.size(); ++cta) {
    slopes[cta] = (slopes[cta] - shorter[cta]) / operations;
  }
  return median(slopes);
}

Figure figure(const std::string& metric, const std::string& unit,
              std::span<const double> repetitions) {
  const auto [low, high] = std::ranges::minmax(repetitions);
  return {.point = "",
          .metric = metric,
          .unit = unit,
          .value = median(repetitions),
          .low = low,
          .high = high,
          .samples = static_cast<std::int64_t>(repetitions.size())};
}

MicroSource make_source(MemoryLevel level, const MicroTask& task) {
  // At most a quarter of the L2, because each of its halves may keep a copy; or far more than it
  // can hold.
  constexpr std::int64_t kRowBytes = kSourceColumns * 2;
  constexpr std::int64_t kInL2 = 16 << 20;
  constexpr std::int64_t kInHbm = 1 << 30;
  std::int64_t bytes = kInHbm;
  if (level == MemoryLevel::kL2) {
    bytes = std::min(kInL2, task.bench.device.l2_bytes / 4);
  }
  bytes -= bytes % (256 * kRowBytes);
  MicroSource source{DeviceMemory(static_cast<std::size_t>(bytes)), bytes};
  fill_normal(source.memory.data(), bytes / 2, DataType::kBf16, 1.0f, task.request.seed, 0,
              task.bench.stream.get());
  task.bench.stream.synchronize();
  return source;
}

TensorMap source_map(const MicroSource& source, int box_rows, int box_columns,
                     MicroSwizzle swizzle) {
  constexpr std::int64_t kRowBytes = kSourceColumns * 2;
  const auto tensor_swizzle = [swizzle] {
    switch (swizzle) {
      case MicroSwizzle::kNone:
        return TensorSwizzle::kNone;
      case MicroSwizzle::k32:
        return TensorSwizzle::k32B;
      case MicroSwizzle::k64:
        return TensorSwizzle::k64B;
      case MicroSwizzle::k128:
        return TensorSwizzle::k128B;
    }
    throw Error("a swizzle outside its enumeration");
  }();
  return make_tensor_map({.name = "the source",
                          .data = source.memory.data(),
                          .element = TensorElement::kBf16,
                          .extents = {kSourceColumns, source.bytes / kRowBytes},
                          .strides_bytes = {kRowBytes},
                          .box = {box_columns, box_rows},
                          .swizzle = tensor_swizzle});
}

}  // namespace hgemm
