#include "device/problem_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "device/data_kernels.h"
#include "record/cold.h"

namespace hgemm {
namespace {

/// Rows of poison before and after D. A kernel that does not clip at the edges writes first to the
/// rows next to D.
constexpr std::int64_t kGuardRows = 64;
/// Problems below 0.4 MB would need more sets to exceed L2; they are measured with partly warm
/// inputs.
constexpr int kMaxSets = 512;
/// FLOP per byte below which memory is the limit on every Hopper GPU (H200: 989 TFLOP/s / 4.8
/// TB/s).
constexpr double kMemoryBound = 200;
constexpr int kPlacements = 16;
/// Left free for cuBLAS's workspaces, loaded kernels and graphs.
constexpr double kReservedBytes = 1.5e9;

double bytes_of_set(const GemmProblem& problem) {
  const std::size_t bytes =
      matrix_bytes(problem.m, problem.leading_a(), problem.a_type) +
      matrix_bytes(problem.n, problem.leading_b(), problem.b_type) +
      matrix_bytes(problem.m + 2 * kGuardRows, problem.leading_d(), problem.d_type);
  return static_cast<double>(bytes);
}

}  // namespace

std::size_t matrix_bytes(std::int64_t rows, std::int64_t cols, DataType type) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) *
         static_cast<std::size_t>(element_bytes(type));
}

int rotation_sets(const GemmProblem& problem, std::int64_t l2_bytes, std::int64_t free_bytes) {
  const int cold =
      std::clamp(static_cast<int>(std::ceil(cold_bytes(l2_bytes) / problem.bytes())), 1, kMaxSets);
  if (problem.intensity() >= kMemoryBound) return cold;
  const double fitting = static_cast<double>(free_bytes) / 2 / bytes_of_set(problem);
  return std::max(cold, static_cast<int>(std::min<double>(kPlacements, fitting)));
}

ProblemData::ProblemData(const GemmProblem& problem, std::uint64_t seed, const Gpu& device,
                         const Stream& stream)
    : problem_(problem), seed_(seed), comparison_(sizeof(OutputComparison)) {
  const double reference_bytes =
      4.0 * static_cast<double>(problem.m) * static_cast<double>(problem.n);
  const auto free_bytes = static_cast<std::int64_t>(free_device_bytes());
  const int wanted = rotation_sets(problem, device.l2_bytes, free_bytes);
  cold_ = wanted * problem.bytes() >= cold_bytes(device.l2_bytes);
  const double needed = reference_bytes + bytes_of_set(problem) * wanted + kReservedBytes;
  if (needed > static_cast<double>(free_bytes)) {
    throw InputError(fmt::format(
        "{} needs {:.1f} GB of device memory, and {} has {:.1f} GB free; leave the problem out",
        to_string(problem), needed * 1e-9, device.name, static_cast<double>(free_bytes) * 1e-9));
  }

  try {
    allocate(wanted);
    fill_inputs(stream);
    multiply_reference(reference_.as<float>(), operands(0).a, operands(0).b, problem_.a_type,
                       problem_.extents(), stream.get());
    stream.synchronize();
  } catch (const CudaError& error) {
    if (error.code != cudaErrorMemoryAllocation)
      throw;  // memory is fragmented, or another process took it
    throw InputError(fmt::format("{} does not fit in the memory of {} ({}); leave the problem out",
                                 to_string(problem), device.name, error.what()));
  }
}

void ProblemData::allocate(int sets) {
  for (int i = 0; i < sets; ++i) {
    sets_.push_back({DeviceMemory(matrix_bytes(problem_.m, problem_.leading_a(), problem_.a_type)),
                     DeviceMemory(matrix_bytes(problem_.n, problem_.leading_b(), problem_.b_type)),
                     DeviceMemory(matrix_bytes(problem_.m + 2 * kGuardRows, problem_.leading_d(),
                                               problem_.d_type))});
  }
  reference_ = DeviceMemory(static_cast<std::size_t>(problem_.m * problem_.n) * sizeof(float));
}

void ProblemData::fill_inputs(const Stream& stream) {
  const auto sigma_b = static_cast<float>(1.0 / std::sqrt(static_cast<double>(problem_.k)));
  const std::int64_t a_count = problem_.m * problem_.leading_a();
  const std::int64_t b_count = problem_.n * problem_.leading_b();
  for (std::uint32_t stream_id = 0; const Set& set : sets_) {
    fill_normal(set.a.data(), a_count, problem_.a_type, 1.0f, seed_, stream_id++, stream.get());
    fill_normal(set.b.data(), b_count, problem_.b_type, sigma_b, seed_, stream_id++, stream.get());
    // A kernel that multiplies with padding gets NaN.
    poison_padding(set.a.data(), problem_.m, problem_.k, problem_.leading_a(), problem_.a_type,
                   stream.get());
    poison_padding(set.b.data(), problem_.n, problem_.k, problem_.leading_b(), problem_.b_type,
                   stream.get());
  }
}

std::uint64_t ProblemData::fingerprint(const Stream& stream) const {
  const DeviceMemory sum(sizeof(std::uint64_t));
  check(cudaMemsetAsync(sum.data(), 0, sum.bytes(), stream.get()), "clearing a sum");
  for (const Set& set : sets_) {
    add_fingerprint(sum.as<std::uint64_t>(), set.a.data(), set.a.bytes(), stream.get());
    add_fingerprint(sum.as<std::uint64_t>(), set.b.data(), set.b.bytes(), stream.get());
  }
  std::uint64_t value = 0;
  check(cudaMemcpyAsync(&value, sum.data(), sizeof value, cudaMemcpyDeviceToHost, stream.get()),
        "reading a sum");
  stream.synchronize();
  return value;
}

bool ProblemData::restore_inputs(const Stream& stream) {
  const std::uint64_t now = fingerprint(stream);
  if (fingerprint_ == now) return false;
  const bool is_first = !fingerprint_;
  // Filled again from the seed, the inputs are known to be right.
  fill_inputs(stream);
  fingerprint_ = fingerprint(stream);
  return !is_first || *fingerprint_ != now;
}

Operands ProblemData::operands(int set) const {
  const Set& chosen = sets_.at(static_cast<std::size_t>(set));
  return {
      chosen.a.data(), chosen.b.data(),
      chosen.d.as<std::byte>() + matrix_bytes(kGuardRows, problem_.leading_d(), problem_.d_type)};
}

void ProblemData::touch_input(int set, cudaStream_t stream) const {
  scale_in_place(sets_.at(static_cast<std::size_t>(set)).a.data(),
                 problem_.m * problem_.leading_a(), problem_.a_type, 1, stream);
}

void ProblemData::touch_output(int set, cudaStream_t stream) const {
  scale_in_place(operands(set).d, problem_.m * problem_.leading_d(), problem_.d_type, 1, stream);
}

void ProblemData::poison(const Stream& stream) const {
  const DeviceMemory& d = sets_.front().d;
  check(cudaMemsetAsync(d.data(), kPoisonByte, d.bytes(), stream.get()), "poisoning the output");
}

Verdict ProblemData::verify(const Stream& stream, int roundings) const {
  return judge_output(operands(0).d, reference_, problem_, kGuardRows, roundings, comparison_,
                      stream);
}

Verdict judge_output(const void* d, const DeviceMemory& reference, const GemmProblem& problem,
                     std::int64_t guard_rows, int roundings, const DeviceMemory& comparison,
                     const Stream& stream) {
  compare(comparison.as<OutputComparison>(), d, reference.as<float>(), problem.extents(),
          guard_rows * problem.leading_d(), problem.d_type,
          static_cast<float>(problem.tolerance(roundings)), stream.get());
  OutputComparison found{};
  check(cudaMemcpyAsync(&found, comparison.data(), sizeof found, cudaMemcpyDeviceToHost,
                        stream.get()),
        "reading the comparison");
  stream.synchronize();
  return judge(found, problem, roundings);
}

}  // namespace hgemm
