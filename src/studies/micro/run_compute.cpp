// Microbenchmarks within an SM: wgmma, mma.sync, stmatrix, wgmma beside TMA. One CTA runs on each
// SM; a figure is that of the median SM.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "device/data_kernels.h"
#include "studies/micro/run_kernel.h"

namespace hgemm {
namespace {

DeviceMemory make_operands(MmaTypes types, MicroData data, const MicroTask& task) {
  DeviceMemory operands(micro::kOperandBytes);
  if (data == MicroData::kZeros) {
    check(cudaMemsetAsync(operands.data(), 0, operands.bytes(), task.bench.stream.get()),
          "clearing operands");
  } else {
    // The kernel converts fp16 data to fp8.
    fill_normal(operands.data(), micro::kOperandBytes / 2,
                types == MmaTypes::kF32Bf16 ? DataType::kBf16 : DataType::kFp16, 1.0f,
                task.request.seed, 0, task.bench.stream.get());
  }
  return operands;
}

enum class Checksum { kZero, kNotZero, kOne };

std::string what_is_wrong(const DeviceMemory& checksums, int ctas, Checksum expected) {
  for (const float sum : read_back<float>(checksums, static_cast<std::size_t>(ctas))) {
    const bool right = expected == Checksum::kZero  ? sum == 0
                       : expected == Checksum::kOne ? sum == 1
                                                    : std::isfinite(sum) && sum != 0;
    if (!right) {
      return fmt::format("the kernel's checksum is {}, which its operands do not give", sum);
    }
  }
  return "";
}
Checksum checksum_of(MicroData data) {
  return data == MicroData::kZeros ? Checksum::kZero : Checksum::kNotZero;
}

/// Numbers of rounds so that the long section takes about `cycles`.
micro::Lengths lengths_for(double cycles, double cycles_per_round) {
  const int rounds = std::clamp(static_cast<int>(cycles / cycles_per_round), 40, 20000);
  return {{rounds / 4, rounds / 4, rounds}};
}

/// Launches a kernel that takes ComputeParams. Each warpgroup, or warp, is an actor.
MicroOutcome run_compute(const MicroPoint& point, const MicroTask& task, MicroLaunch launch,
                         micro::ComputeParams params, int actors, double operations_per_round,
                         Checksum expected) {
  const MicroKernel kernel(task.cubin, micro_kernel(point), launch.smem_bytes);
  launch.ctas = kernel.resident_ctas(launch, task.bench.device.sm_count);
  SectionTimes times(launch.ctas, actors);
  const DeviceMemory checksums(static_cast<std::size_t>(launch.ctas) * sizeof(float));
  params.times = times.device();
  params.checksums = checksums.as<float>();

  std::vector<double> cycles;
  for (int repetition = -1; repetition < kMicroRepetitions; ++repetition) {
    void* arguments[] = {&params};
    kernel.run(launch, arguments, task.bench.stream);
    times.read();
    if (repetition >= 0) {
      cycles.push_back(cycles_per_operation(times, actors, params.lengths, operations_per_round));
    }
  }
  return {{figure("cycles", "clk", cycles)}, what_is_wrong(checksums, launch.ctas, expected)};
}

}  // namespace

MicroOutcome measure(const WgmmaPoint& point, const MicroTask& task) {
  const int most = max_warpgroups(point);
  const bool issue = point.pace == MicroPace::kIssue;
  const int per_round =
      issue ? micro::wgmma_per_round(point.n, point.a_from_registers, most) : micro::kStepsPerStage;
  const double expected = issue ? std::max(18.0, point.n / 2.0) : 60 + point.n / 2.0;
  const DeviceMemory operands = make_operands(point.types, point.data, task);
  micro::ComputeParams params{};
  params.operands = operands.data();
  params.lengths = lengths_for(400'000, expected * per_round * point.warpgroups);
  return run_compute(point, task,
                     {.threads = point.warpgroups * 128,
                      .smem_bytes = micro::wgmma_smem_bytes(point.n, point.a_from_registers, most)},
                     params, point.warpgroups, per_round * point.warpgroups,
                     checksum_of(point.data));
}

MicroOutcome measure(const PromotedPoint& point, const MicroTask& task) {
  const int per_round = point.every == 0
                            ? micro::wgmma_per_round(point.n, false, kPromotedWarpgroups)
                            : micro::promoted_per_round(point.every);
  const DeviceMemory operands = make_operands(MmaTypes::kF32E4m3, MicroData::kRandom, task);
  micro::ComputeParams params{};
  params.operands = operands.data();
  params.lengths =
      lengths_for(400'000, std::max(18.0, point.n / 2.0) * per_round * point.warpgroups);
  return run_compute(point, task,
                     {.threads = point.warpgroups * 128,
                      .smem_bytes = micro::wgmma_smem_bytes(point.n, false, kPromotedWarpgroups)},
                     params, point.warpgroups, per_round * point.warpgroups, Checksum::kNotZero);
}

MicroOutcome measure(const MmaPoint& point, const MicroTask& task) {
  const int chains = point.pace == MicroPace::kIssue ? micro::kMmaChains : 1;
  const int per_round = chains * micro::kMmaPerRoundAndChain;
  const DeviceMemory operands = make_operands(point.types, point.data, task);
  micro::ComputeParams params{};
  params.operands = operands.data();
  params.lengths = lengths_for(400'000, 20.0 * per_round * std::max(1.0, point.warps / 4.0));
  return run_compute(point, task, {.threads = point.warps * 32}, params, point.warps,
                     per_round * point.warps, checksum_of(point.data));
}

MicroOutcome measure(const StmatrixPoint& point, const MicroTask& task) {
  micro::ComputeParams params{};
  params.row_bytes = point.rows == StmatrixRows::kPadded ? 144 : 128;
  params.row_xor = point.rows == StmatrixRows::kSwizzled ? 7 : 0;
  params.lengths = lengths_for(400'000, 10.0 * micro::kStmatrixPerRound * point.warps);
  return run_compute(
      point, task,
      {.threads = point.warps * 32, .smem_bytes = point.warps * micro::kStmatrixWarpBytes}, params,
      point.warps, micro::kStmatrixPerRound * point.warps, Checksum::kOne);
}

MicroOutcome measure(const ContentionPoint& point, const MicroTask& task) {
  const int per_round = micro::kContentionStages * micro::kStepsPerStage;
  const int actors = point.warpgroups + 1;
  MicroLaunch launch{.threads = point.warpgroups * 128 + 32,
                     .smem_bytes = micro::contention_smem_bytes(point.n, point.warpgroups)};
  const MicroKernel kernel(task.cubin, micro_kernel(point), launch.smem_bytes);
  if (point.extent == Extent::kAllSms) {
    launch.ctas = kernel.resident_ctas(launch, task.bench.device.sm_count);
  }
  const DeviceMemory operands = make_operands(MmaTypes::kF32Bf16, MicroData::kRandom, task);
  const MicroSource source = make_source(MemoryLevel::kL2, task);
  TensorMap map = source_map(source, micro::kFillBoxRows, 64, MicroSwizzle::k128);
  SectionTimes times(launch.ctas, actors);
  const auto ctas = static_cast<std::size_t>(launch.ctas);
  const DeviceMemory checksums(ctas * sizeof(float));
  const DeviceMemory boxes(ctas * sizeof(unsigned));

  const auto rows =
      static_cast<unsigned>(source.bytes / (kSourceColumns * 2) / micro::kFillBoxRows);
  constexpr unsigned kColumns = kSourceColumns / 64;
  micro::ContentionParams params{};
  params.operands = operands.data();
  params.times = times.device();
  params.boxes = boxes.as<unsigned>();
  params.checksums = checksums.as<float>();
  params.lengths =
      lengths_for(400'000, std::max(18.0, point.n / 2.0) * per_round * point.warpgroups);
  params.warpgroups = point.warpgroups;
  params.fills = point.fill_bytes_per_clk > 0 ? 1 : 0;
  if (params.fills != 0) {
    params.interval_clk =
        static_cast<unsigned>(std::lround(double{micro::kFillBoxBytes} / point.fill_bytes_per_clk));
  }
  params.walk = {.rows = rows,
                 .columns = kColumns,
                 .first = 0,
                 .chunk = rows * kColumns / static_cast<unsigned>(launch.ctas),
                 .step_rows = 0,
                 .step_columns = 1};

  std::vector<double> cycles, fills;
  for (int repetition = -1; repetition < kMicroRepetitions; ++repetition) {
    void* arguments[] = {&map, &params};
    kernel.run(launch, arguments, task.bench.stream);
    times.read();
    if (repetition < 0) continue;
    cycles.push_back(cycles_per_operation(times, point.warpgroups, params.lengths,
                                          per_round * point.warpgroups));
    std::vector<double> rates;
    if (params.fills != 0) {
      const auto filled = read_back<unsigned>(boxes, ctas);
      for (int cta = 0; cta < launch.ctas; ++cta) {
        const micro::SectionTime& time = times.at(cta, point.warpgroups, 0);
        rates.push_back(double{micro::kFillBoxBytes} * filled[static_cast<std::size_t>(cta)] /
                        static_cast<double>(time.stop_clk - time.start_clk));
      }
    }
    fills.push_back(rates.empty() ? 0 : median(rates));
  }
  return {{figure("cycles", "clk", cycles), figure("fill_bytes_per_clk", "B/clk/SM", fills)},
          what_is_wrong(checksums, launch.ctas, Checksum::kNotZero)};
}

}  // namespace hgemm
