#include "problem/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "problem/kernels.h"
#include "trial/cold.h"

namespace hgemm {
namespace {

/// Rows of poison before and after D. A kernel that forgets to clip writes the rows next to D
/// first.
constexpr std::int64_t kGuardRows = 64;
/// Shapes under 0.4 MB would need more to leave L2; they are measured as warm as 512 sets leave
/// them.
constexpr int kMaxSets = 512;
/// FLOP per byte below which memory is the bound on every Hopper GPU (H200: 989 TFLOP/s / 4.8
/// TB/s).
constexpr double kMemoryBound = 200;
constexpr int kPlacements = 16;
/// Left free for cuBLAS's workspaces, loaded kernels and graphs.
constexpr double kReservedBytes = 1.5e9;

double bytes_of_set(const Shape& shape) {
  const auto elements = static_cast<double>(shape.m * shape.leading_a()) +
                        static_cast<double>(shape.n * shape.leading_b()) +
                        static_cast<double>((shape.m + 2 * kGuardRows) * shape.leading_d());
  return elements * element_bytes(shape.dtype);
}

/// Of the output type.
double unit_roundoff(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBf16:
      return 0x1p-8;
    case Dtype::kFp16:
      return 0x1p-11;
    case Dtype::kFp32:
      return 0x1p-24;
  }
  return 0;  // nothing is correct
}

}  // namespace

std::size_t matrix_bytes(std::int64_t rows, std::int64_t cols, Dtype dtype) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) *
         static_cast<std::size_t>(element_bytes(dtype));
}

int rotation_sets(const Shape& shape, std::int64_t l2_bytes, std::int64_t free_bytes) {
  const int cold =
      std::clamp(static_cast<int>(std::ceil(cold_bytes(l2_bytes) / shape.bytes())), 1, kMaxSets);
  if (shape.flops() / shape.bytes() >= kMemoryBound) return cold;
  const double fitting = static_cast<double>(free_bytes) / 2 / bytes_of_set(shape);
  return std::max(cold, static_cast<int>(std::min<double>(kPlacements, fitting)));
}

double tolerance(Dtype dtype, std::int64_t k, int roundings) {
  const auto products = static_cast<double>(k);
  const double accumulation =
      dtype == Dtype::kFp32 ? std::sqrt(products) * 0x1p-21 : products / 16.0 * 0x1p-23;
  return roundings * unit_roundoff(dtype) + accumulation;
}

Problem::Problem(const Shape& shape, std::uint64_t seed, const Gpu& device, const Stream& stream)
    : shape_(shape), comparison_(sizeof(Comparison)) {
  const double reference_bytes = 4.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n);
  const auto free_bytes = static_cast<std::int64_t>(free_device_bytes());
  const int wanted = rotation_sets(shape, device.l2_bytes, free_bytes);
  cold_ = wanted * shape.bytes() >= cold_bytes(device.l2_bytes);
  const double needed = reference_bytes + bytes_of_set(shape) * wanted + kReservedBytes;
  if (needed > static_cast<double>(free_bytes)) {
    throw InputError(fmt::format(
        "{} needs {:.1f} GB of device memory, and {} has {:.1f} GB free; leave the shape out",
        to_string(shape), needed * 1e-9, device.name, static_cast<double>(free_bytes) * 1e-9));
  }

  try {
    allocate_and_fill(wanted, seed, stream);
  } catch (const CudaError& error) {
    if (error.code != cudaErrorMemoryAllocation)
      throw;  // fragmented, or another process was faster
    throw InputError(fmt::format("{} does not fit in the memory of {} ({}); leave the shape out",
                                 to_string(shape), device.name, error.what()));
  }
}

void Problem::allocate_and_fill(int sets, std::uint64_t seed, const Stream& stream) {
  const auto sigma_b = static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape_.k)));
  for (int i = 0; i < sets; ++i) {
    const std::int64_t a_count = shape_.m * shape_.leading_a();
    const std::int64_t b_count = shape_.n * shape_.leading_b();
    Set set{
        DeviceMemory(matrix_bytes(shape_.m, shape_.leading_a(), shape_.dtype)),
        DeviceMemory(matrix_bytes(shape_.n, shape_.leading_b(), shape_.dtype)),
        DeviceMemory(matrix_bytes(shape_.m + 2 * kGuardRows, shape_.leading_d(), shape_.dtype))};
    const auto stream_id = static_cast<std::uint32_t>(2 * i);
    fill_normal(set.a.data(), a_count, shape_.dtype, 1.0f, seed, stream_id, stream.get());
    fill_normal(set.b.data(), b_count, shape_.dtype, sigma_b, seed, stream_id + 1, stream.get());
    // Whoever multiplies with what is no part of a row gets NaN.
    poison_padding(set.a.data(), shape_.m, shape_.k, shape_.leading_a(), shape_.dtype,
                   stream.get());
    poison_padding(set.b.data(), shape_.n, shape_.k, shape_.leading_b(), shape_.dtype,
                   stream.get());
    sets_.push_back(std::move(set));
  }
  reference_ = DeviceMemory(static_cast<std::size_t>(shape_.m * shape_.n) * sizeof(float));
  const Operands first = operands(0);
  multiply_reference(reference_.as<float>(), first.a, first.b, shape_.dtype, shape_.extents(),
                     stream.get());
  stream.synchronize();
}

Operands Problem::operands(int set) const {
  const Set& chosen = sets_.at(static_cast<std::size_t>(set));
  return {chosen.a.data(), chosen.b.data(),
          chosen.d.as<std::byte>() + matrix_bytes(kGuardRows, shape_.leading_d(), shape_.dtype)};
}

void Problem::poison(const Stream& stream) const {
  const DeviceMemory& d = sets_.front().d;
  check(cudaMemsetAsync(d.data(), kPoisonByte, d.bytes(), stream.get()), "poisoning the output");
}

Verdict Problem::verify(const Stream& stream, int roundings) const {
  return judge_output(operands(0).d, reference_, shape_, kGuardRows, roundings, comparison_,
                      stream);
}

Verdict judge_output(const void* d, const DeviceMemory& reference, const Shape& shape,
                     std::int64_t guard_rows, int roundings, const DeviceMemory& comparison,
                     const Stream& stream) {
  Verdict verdict;
  verdict.tolerance = tolerance(shape.dtype, shape.k, roundings);
  compare(comparison.as<Comparison>(), d, reference.as<float>(), shape.extents(),
          guard_rows * shape.leading_d(), shape.dtype, static_cast<float>(verdict.tolerance),
          stream.get());
  Comparison found{};
  check(cudaMemcpyAsync(&found, comparison.data(), sizeof found, cudaMemcpyDeviceToHost,
                        stream.get()),
        "reading the comparison");
  stream.synchronize();

  verdict.error = static_cast<double>(found.max_error);
  if (found.bad > 0) {
    const auto index = static_cast<std::int64_t>(found.first_bad);
    verdict.message = fmt::format("{} of {} elements are wrong, the first at row {}, column {}",
                                  found.bad, shape.m * shape.n, index / shape.n, index % shape.n);
    if (verdict.error <= verdict.tolerance) {
      verdict.error = std::numeric_limits<double>::quiet_NaN();
      verdict.message += " (NaN, or never written)";
    }
  } else if (found.guard_writes > 0) {
    verdict.message =
        fmt::format("{} elements outside the output were written", found.guard_writes);
  }
  verdict.correct = found.bad == 0 && found.guard_writes == 0;
  return verdict;
}

}  // namespace hgemm
