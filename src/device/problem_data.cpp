#include "device/problem_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "device/data_kernels.h"
#include "device/epilogue_kernels.h"
#include "device/rounded_from.h"
#include "gemm/input_data.h"
#include "record/cold.h"

namespace hgemm {
namespace {

/// Rows of poison before and after D. A kernel that does not clip at the edges writes first to the
/// rows next to D.
constexpr std::int64_t kGuardRows = 64;
/// Numbers of poison before and after scales that a launch finds: what a tile outside of D would
/// write.
std::int64_t guard_scales(const GemmProblem& problem) {
  constexpr std::int64_t kLeast = 1024;
  constexpr std::int64_t kBlocks = 4;
  return std::max<std::int64_t>(kLeast, kBlocks * scale_leading(problem.m));
}
/// Problems below 0.4 MB would need more sets to exceed L2; they are measured with partly warm
/// inputs.
constexpr int kMaxSets = 512;
/// FLOP per byte below which memory is the limit on every Hopper GPU (H200: 989 TFLOP/s / 4.8
/// TB/s, and twice as many with 8-bit operands).
constexpr double kMemoryBound = 200;
double memory_bound(const GemmProblem& problem) {
  return problem.has_8_bit_operands() ? 2 * kMemoryBound : kMemoryBound;
}
constexpr int kPlacements = 16;
/// Left free for cuBLAS's workspaces, loaded kernels and graphs.
constexpr double kReservedBytes = 1.5e9;

std::size_t bytes_of(std::int64_t elements, DataType type) {
  return matrix_bytes(1, elements, type);
}

/// The elements of a set, with everything between rows and between the matrices of a batch.
struct SetElements {
  std::int64_t a, b, d, c, bias, aux;
  std::int64_t scale_a, scale_b, scale_d, scales_d, library_scale_b;
};
/// Scales of B with padding, if a library needs them and the problem has them without.
std::int64_t library_scales_of_b(const GemmProblem& problem) {
  const std::int64_t padded = problem.for_cublaslt().scales_of_b();
  return padded == problem.scales_of_b() ? 0 : padded;
}
SetElements elements_of_set(const GemmProblem& problem) {
  const ProblemExtents extents = problem.extents();
  const ProblemExtents of_library = problem.for_cublaslt().extents();
  const std::int64_t d = spanned_elements(all_of_d(extents));
  const std::int64_t guarded = d + 2 * kGuardRows * problem.leading_d();
  return {.a = spanned_elements(all_of_a(of_library)),
          .b = spanned_elements(all_of_b(extents)),
          .d = guarded,
          .c = problem.c_type ? spanned_elements(all_of_d(of_library)) : 0,
          .bias = problem.bias_length(),
          .aux = problem.epilogue.aux ? guarded : 0,
          .scale_a = problem.scales_of_a(),
          .scale_b = problem.scales_of_b(),
          .scale_d = has_given_output_scale(problem.kind()) ? 1 : 0,
          .scales_d =
              problem.finds_scales_of_d() ? problem.scales_of_d() + 2 * guard_scales(problem) : 0,
          .library_scale_b = library_scales_of_b(problem)};
}
std::size_t address_bytes(const GemmProblem& problem) {
  return problem.by_pointers ? 3 * sizeof(void*) * static_cast<std::size_t>(problem.batch) : 0;
}
/// Without the overflow that a size of memory has at problems which do not fit in any.
double bytes_of_set(const GemmProblem& problem) {
  const SetElements all = elements_of_set(problem);
  const double of_output = static_cast<double>(all.d) + static_cast<double>(all.aux);
  const double addends = static_cast<double>(all.c) + static_cast<double>(all.bias);
  return static_cast<double>(all.a) * element_bytes(problem.a_type) +
         static_cast<double>(all.b) * element_bytes(problem.b_type) +
         static_cast<double>(address_bytes(problem)) + of_output * element_bytes(problem.d_type) +
         addends * element_bytes(problem.added_type()) +
         static_cast<double>(all.scale_a + all.scale_b + all.scale_d + all.scales_d +
                             all.library_scale_b) *
             element_bytes(DataType::kFp32);
}

/// The standard deviations of A and B, with which that of D is 1.
struct Sigmas {
  double a, b;
};
Sigmas sigmas_of(const GemmProblem& problem) {
  const double of_both = 1.0 / std::sqrt(static_cast<double>(problem.k));
  if (!problem.has_8_bit_operands()) return {1.0, of_both};
  return {std::sqrt(of_both), std::sqrt(of_both)};
}

/// The largest number of a type; infinity if no file has a larger one in proportion.
double largest_of(DataType type) {
  switch (type) {
    case DataType::kFp16:
      return 65504;
    case DataType::kE4m3:
    case DataType::kE5m2:
      return value_of_magnitude(type, largest_magnitude(type));
    default:
      return std::numeric_limits<double>::infinity();
  }
}

/// Whether a library's product is written elsewhere than an output (GemmProblem::product()).
bool product_has_memory(const GemmProblem& problem) {
  return problem.is_gated() || problem.has_8_bit_output();
}

std::size_t fp32_bytes(std::int64_t rows, std::int64_t cols) {
  return matrix_bytes(rows, cols, DataType::kFp32);
}

/// One of the two inputs, of all products.
struct Input {
  void* data;
  StoredMatrices all;
  DataType type;
  double sigma;
};

Distribution distribution_of(DataKind kind) {
  switch (kind) {
    case DataKind::kUniform:
      return Distribution::kUniform;
    case DataKind::kIntegers:
      return Distribution::kIntegers;
    case DataKind::kSparse:
      return Distribution::kSparse;
    default:
      return Distribution::kNormal;
  }
}

/// Fills an input with data of any kind but kFile.
void fill(const Input& input, DataKind kind, std::uint64_t seed, std::uint32_t stream_id,
          const Stream& stream) {
  const std::int64_t count = spanned_elements(input.all);
  if (kind == DataKind::kZeros) {
    check(cudaMemsetAsync(input.data, 0, bytes_of(count, input.type), stream.get()),
          "filling inputs with zeros");
    return;
  }
  // A power of two keeps integers exact.
  const double sigma =
      kind == DataKind::kIntegers ? std::exp2(std::round(std::log2(input.sigma))) : input.sigma;
  fill_random(input.data, count, input.type, distribution_of(kind), static_cast<float>(sigma), seed,
              stream_id, stream.get());
}

/// The values in device memory; none for no values.
DeviceMemory uploaded(const std::vector<float>& values) {
  if (values.empty()) return {};
  DeviceMemory memory(values.size() * sizeof(float));
  check(cudaMemcpy(memory.data(), values.data(), memory.bytes(), cudaMemcpyHostToDevice),
        "copying the values of a file");
  return memory;
}

void poison_all(const DeviceMemory& memory, const Stream& stream) {
  if (memory.bytes() == 0) return;
  check(cudaMemsetAsync(memory.data(), kPoisonByte, memory.bytes(), stream.get()),
        "poisoning memory");
}

/// The address of one of the matrices that begin at `first`.
const void* matrix_number(const void* first, std::int64_t number, const StoredMatrices& all,
                          DataType type) {
  return static_cast<const std::byte*>(first) + bytes_of(number * all.stride, type);
}

}  // namespace

std::size_t matrix_bytes(std::int64_t rows, std::int64_t cols, DataType type) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) *
         static_cast<std::size_t>(element_bytes(type));
}

int rotation_sets(const GemmProblem& problem, std::int64_t l2_bytes, std::int64_t free_bytes) {
  const int cold =
      std::clamp(static_cast<int>(std::ceil(cold_bytes(l2_bytes) / problem.bytes())), 1, kMaxSets);
  if (problem.intensity() >= memory_bound(problem)) return cold;
  const double fitting = static_cast<double>(free_bytes) / 2 / bytes_of_set(problem);
  return std::max(cold, static_cast<int>(std::min<double>(kPlacements, fitting)));
}

std::vector<const void*> product_addresses(const GemmProblem& problem, const Operands& matrices) {
  const ProblemExtents extents = problem.extents();
  const auto products = static_cast<std::size_t>(problem.batch);
  std::vector<const void*> addresses(3 * products);
  for (std::size_t i = 0; i < products; ++i) {
    const Places places = places_of(extents.batch, static_cast<std::int64_t>(i));
    addresses[i] = matrix_number(matrices.a, places.a, all_of_a(extents), problem.a_type);
    addresses[products + i] =
        matrix_number(matrices.b, places.b, all_of_b(extents), problem.b_type);
    addresses[2 * products + i] =
        matrix_number(matrices.d, places.d, all_of_d(extents), problem.d_type);
  }
  return addresses;
}

Operands operands_by_pointers(const GemmProblem& problem, Operands matrices, void** addresses) {
  matrices.a = addresses;
  matrices.b = addresses + problem.batch;
  matrices.d = addresses + 2 * problem.batch;
  return matrices;
}

ProblemData::ProblemData(const GemmProblem& problem, std::uint64_t seed, const Gpu& device,
                         const Stream& stream)
    : problem_(problem), seed_(seed), comparison_(sizeof(OutputComparison)) {
  load_file();
  // The sums; with a gate D and the product of a library, too; and a second output.
  const auto sums = static_cast<double>(problem.batch) * static_cast<double>(problem.m) *
                    static_cast<double>(problem.n);
  const double of_product =
      product_has_memory(problem) ? element_bytes(problem.product().d_type) : 0.0;
  const double reference_bytes = sums * (of_product + (problem.is_gated()     ? 4.0 + 2.0
                                                       : problem.epilogue.aux ? 4.0 + 4.0
                                                                              : 4.0));
  const auto free_bytes = static_cast<std::int64_t>(free_device_bytes());
  const int wanted = rotation_sets(problem, device.l2_bytes, free_bytes);
  cold_ = wanted * problem.bytes() >= cold_bytes(device.l2_bytes);
  const int check_sets = problem.data.is_normal() ? 0 : 1;
  const auto file_bytes =
      static_cast<double>((a_values_.values.size() + b_values_.values.size()) * sizeof(float));
  const double needed =
      reference_bytes + bytes_of_set(problem) * (wanted + check_sets) + file_bytes + kReservedBytes;
  if (needed > static_cast<double>(free_bytes)) {
    throw InputError(fmt::format(
        "{} needs {:.1f} GB of device memory, and {} has {:.1f} GB free; leave the problem out",
        to_string(problem), needed * 1e-9, device.name, static_cast<double>(free_bytes) * 1e-9));
  }

  try {
    allocate(wanted + check_sets);
    fill_inputs(stream);
    compute_reference(stream);
  } catch (const CudaError& error) {
    if (error.code != cudaErrorMemoryAllocation)
      throw;  // memory is fragmented, or another process took it
    throw InputError(fmt::format("{} does not fit in the memory of {} ({}); leave the problem out",
                                 to_string(problem), device.name, error.what()));
  }
}

void ProblemData::compute_reference(const Stream& stream) {
  const Operands checked = matrices(check_set());
  const DeviceMemory own_sums(problem_.is_gated() ? fp32_bytes(problem_.m, problem_.n) : 0);
  float* const sums = problem_.is_gated() ? own_sums.as<float>() : reference_.as<float>();
  multiply_reference(sums, problem_, checked, stream.get());
  finish_reference(reference_.as<float>(), aux_reference_.as<float>(), sums, problem_, checked,
                   stream.get());
  if (problem_.finds_scales_of_d()) {
    find_scales(scales_reference_.as<float>(), reference_.as<float>(), problem_, stream.get());
  }
  stream.synchronize();
}

void ProblemData::allocate(int sets) {
  const SetElements all = elements_of_set(problem_);
  for (int i = 0; i < sets; ++i) {
    sets_.push_back({DeviceMemory(bytes_of(all.a, problem_.a_type)),
                     DeviceMemory(bytes_of(all.b, problem_.b_type)),
                     DeviceMemory(bytes_of(all.d, problem_.d_type)),
                     DeviceMemory(bytes_of(all.c, problem_.added_type())),
                     DeviceMemory(bytes_of(all.bias, problem_.added_type())),
                     DeviceMemory(bytes_of(all.aux, problem_.d_type)),
                     DeviceMemory(bytes_of(all.scale_a, DataType::kFp32)),
                     DeviceMemory(bytes_of(all.scale_b, DataType::kFp32)),
                     DeviceMemory(bytes_of(all.scale_d, DataType::kFp32)),
                     DeviceMemory(bytes_of(all.library_scale_b, DataType::kFp32)),
                     DeviceMemory(bytes_of(all.scales_d, DataType::kFp32)),
                     DeviceMemory(address_bytes(problem_))});
  }
  if (product_has_memory(problem_)) {
    product_ = DeviceMemory(matrix_bytes(problem_.batch * problem_.for_cublaslt().m, problem_.n,
                                         problem_.product().d_type));
  }
  const std::size_t reference_bytes = fp32_bytes(problem_.batch * problem_.m, problem_.d_columns());
  reference_ = DeviceMemory(reference_bytes);
  if (problem_.epilogue.aux) aux_reference_ = DeviceMemory(reference_bytes);
  if (problem_.finds_scales_of_d()) {
    scales_reference_ = DeviceMemory(fp32_bytes(scale_blocks(problem_.d_columns()), problem_.m));
  }
}

/// Keeps the values that A and B have room for, with their scales.
void ProblemData::load_file() {
  if (problem_.data.kind != DataKind::kFile) return;
  std::vector<std::vector<float>> values = load_values(problem_.data);
  const auto take = [this](std::vector<float>&& all, std::int64_t count, double rms,
                           DataType type) {
    if (all.size() > static_cast<std::size_t>(count)) all.resize(static_cast<std::size_t>(count));
    const double scale = power_of_two_scale(all, rms);
    const auto [low, high] = std::ranges::minmax(all);
    const double largest = scale * std::max(-static_cast<double>(low), static_cast<double>(high));
    if (largest > largest_of(type)) {
      throw InputError(fmt::format(
          "--data {}: an element is {:.3g} times as large as the root mean square, and {} cannot "
          "hold it; use bf16, or another tensor",
          problem_.data.files, largest / rms, to_string(type)));
    }
    return FileValues{std::move(all), scale};
  };
  const Sigmas rms = sigmas_of(problem_);
  const ProblemExtents extents = problem_.extents();
  b_values_ = take(std::vector<float>(values.back()), values_to_fill(all_of_b(extents)), rms.b,
                   problem_.b_type);
  a_values_ =
      take(std::move(values.front()), values_to_fill(all_of_a(extents)), rms.a, problem_.a_type);
}

void ProblemData::fill_inputs(const Stream& stream) {
  const DeviceMemory a_source = uploaded(a_values_.values);
  const DeviceMemory b_source = uploaded(b_values_.values);
  const Sigmas sigmas = sigmas_of(problem_);
  const ProblemExtents extents = problem_.extents();
  std::uint32_t stream_id = 0;
  for (int i = 0; i < launchable_sets(); ++i) {
    const Set& set = sets_[static_cast<std::size_t>(i)];
    // The rows behind A and C that a library reads have no other value.
    if (library_rows_behind() > 0) {
      poison_all(set.a, stream);
      poison_all(set.c, stream);
    }
    const DataKind kind = i == check_set() ? DataKind::kNormal : problem_.data.kind;
    const auto fill_one = [&](const Input& input, const FileValues& file,
                              const DeviceMemory& source) {
      if (kind == DataKind::kFile) {
        repeat_values(input.data, input.all, input.type, source.as<float>(),
                      static_cast<std::int64_t>(file.values.size()), static_cast<float>(file.scale),
                      stream.get());
      } else {
        fill(input, kind, seed_, stream_id, stream);
      }
      ++stream_id;
      // A kernel that multiplies with padding, or with what lies between products, gets NaN.
      poison_padding(input.data, input.all, input.type, stream.get());
    };
    fill_one({set.a.data(), all_of_a(extents), problem_.a_type, sigmas.a}, a_values_, a_source);
    fill_one({set.b.data(), all_of_b(extents), problem_.b_type, sigmas.b}, b_values_, b_source);
    if (problem_.c_type) {
      const StoredMatrices c = all_of_d(extents);  // C lies as D does
      fill_normal(set.c.data(), spanned_elements(c), problem_.added_type(), 1, seed_, stream_id++,
                  stream.get());
      poison_padding(set.c.data(), c, problem_.added_type(), stream.get());
    }
    if (problem_.by_pointers) {
      const std::vector<const void*> addresses = product_addresses(problem_, matrices(i));
      check(cudaMemcpyAsync(set.addresses.data(), addresses.data(), set.addresses.bytes(),
                            cudaMemcpyHostToDevice, stream.get()),
            "copying addresses");
    }
    fill_factors(set, stream_id, stream);
  }
  // Until then the kernels may read the sources.
  if (a_source.bytes() > 0) stream.synchronize();
}

/// The vectors of an epilogue: the bias and the scales.
void ProblemData::fill_factors(const Set& set, std::uint32_t& stream_id, const Stream& stream) {
  if (problem_.bias_length() > 0) {
    fill_normal(set.bias.data(), problem_.bias_length(), problem_.added_type(), 1, seed_,
                stream_id++, stream.get());
  }
  const auto copy_scale = [&](const DeviceMemory& scale, const float& number) {
    check(
        cudaMemcpyAsync(scale.data(), &number, sizeof number, cudaMemcpyHostToDevice, stream.get()),
        "copying a scale");
  };
  if (has_given_output_scale(problem_.kind())) copy_scale(set.scale_d, kScaleD);
  if (problem_.scaling == Scaling::kNone) return;
  const auto fill_scale = [&](const DeviceMemory& scale, const float& of_tensor) {
    if (problem_.scaling == Scaling::kTensor) {
      copy_scale(scale, of_tensor);
      return;
    }
    fill_scales(scale.as<float>(), static_cast<std::int64_t>(scale.bytes() / sizeof(float)), seed_,
                stream_id++, stream.get());
  };
  fill_scale(set.scale_a, kScaleA);
  fill_scale(set.scale_b, kScaleB);
  if (!is_of_blocks(problem_.scaling)) return;
  // A kernel that multiplies with padding gets NaN.
  const StoredMatrices of_a = scales_of_rows(problem_.m, problem_.k);
  const StoredMatrices of_b = scales_of_b(problem_.scaling, problem_.n, problem_.k);
  poison_padding(set.scale_a.data(), of_a, DataType::kFp32, stream.get());
  poison_padding(set.scale_b.data(), of_b, DataType::kFp32, stream.get());
  if (set.library_scale_b.bytes() == 0) return;
  poison_all(set.library_scale_b, stream);
  const StoredMatrices padded =
      scales_of_b(problem_.for_cublaslt().scaling, problem_.n, problem_.k);
  const auto row_bytes = [](std::int64_t numbers) { return bytes_of(numbers, DataType::kFp32); };
  check(cudaMemcpy2DAsync(set.library_scale_b.data(), row_bytes(padded.leading), set.scale_b.data(),
                          row_bytes(of_b.leading), row_bytes(of_b.cols),
                          static_cast<std::size_t>(of_b.rows), cudaMemcpyDeviceToDevice,
                          stream.get()),
        "padding scales");
}

std::uint64_t ProblemData::fingerprint(const Stream& stream) const {
  const DeviceMemory sum(sizeof(std::uint64_t));
  check(cudaMemsetAsync(sum.data(), 0, sum.bytes(), stream.get()), "clearing a sum");
  for (const Set& set : sets_) {
    for (const DeviceMemory* input : {&set.a, &set.b, &set.c, &set.bias, &set.scale_a, &set.scale_b,
                                      &set.scale_d, &set.addresses}) {
      if (input->bytes() == 0) continue;
      add_fingerprint(sum.as<std::uint64_t>(), input->data(), input->bytes(), stream.get());
    }
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
  const Operands given = matrices(set);
  if (!problem_.by_pointers) return given;
  const Set& chosen = sets_.at(static_cast<std::size_t>(set));
  return operands_by_pointers(problem_, given, chosen.addresses.as<void*>());
}

Operands ProblemData::matrices(int set) const {
  const Set& chosen = sets_.at(static_cast<std::size_t>(set));
  const bool is_scaled = problem_.epilogue.scaled;
  const auto behind_guard = [&](const DeviceMemory& output) -> void* {
    if (output.bytes() == 0) return nullptr;
    return output.as<std::byte>() + matrix_bytes(kGuardRows, problem_.leading_d(), problem_.d_type);
  };
  return {.a = chosen.a.data(),
          .b = chosen.b.data(),
          .d = behind_guard(chosen.d),
          .c = chosen.c.data(),
          .bias = chosen.bias.data(),
          .alpha = is_scaled ? kAlpha : 1,
          .beta = is_scaled ? kBeta : 1,
          .aux = behind_guard(chosen.aux),
          .scale_a = chosen.scale_a.as<float>(),
          .scale_b = chosen.scale_b.as<float>(),
          .scale_d = chosen.scale_d.as<float>(),
          .scales_d = chosen.scales_d.bytes() == 0
                          ? nullptr
                          : chosen.scales_d.as<float>() + guard_scales(problem_)};
}

Operands ProblemData::library_operands(int set) const {
  Operands given = operands(set);
  const Set& chosen = sets_.at(static_cast<std::size_t>(set));
  if (chosen.library_scale_b.bytes() > 0) given.scale_b = chosen.library_scale_b.as<float>();
  return given;
}

Operands ProblemData::product_operands(int set) const {
  Operands product = library_operands(set);
  if (product_has_memory(problem_)) product.d = product_.data();
  if (problem_.epilogue.aux) product.d = product.aux;
  return product;
}

void ProblemData::touch_input(int set, cudaStream_t stream) const {
  scale_in_place(sets_.at(static_cast<std::size_t>(set)).a.data(),
                 spanned_elements(all_of_a(problem_.extents())), problem_.a_type, 1, stream);
}

void ProblemData::touch_output(int set, cudaStream_t stream) const {
  scale_in_place(matrices(set).d, spanned_elements(all_of_d(problem_.extents())), problem_.d_type,
                 1, stream);
}

void ProblemData::poison(const Stream& stream) const {
  const Set& set = sets_.at(static_cast<std::size_t>(check_set()));
  for (const DeviceMemory* output : {&set.d, &set.aux, &set.scales_d}) poison_all(*output, stream);
}

Verdict ProblemData::verify(const Stream& stream, int roundings, std::int64_t rows_behind) const {
  const Operands checked = matrices(check_set());
  const auto after = spanned_elements(all_of_d(problem_.extents()));
  for (void* const output : {checked.d, checked.aux}) {
    if (output == nullptr || rows_behind == 0) continue;
    check(cudaMemsetAsync(
              static_cast<std::byte*>(output) + bytes_of(after, problem_.d_type), kPoisonByte,
              matrix_bytes(rows_behind, problem_.leading_d(), problem_.d_type), stream.get()),
          "poisoning rows behind the output");
  }
  if (problem_.finds_scales_of_d()) {
    return judge_scaled_output(checked.d, reference_, checked.scales_d, scales_reference_, problem_,
                               kGuardRows, guard_scales(problem_), roundings, comparison_, stream);
  }
  Verdict verdict =
      judge_output(checked.d, reference_, problem_, kGuardRows, roundings, comparison_, stream);
  if (!verdict.correct || !problem_.epilogue.aux) return verdict;
  GemmProblem sums = problem_;
  sums.epilogue.activation = Activation::kNone;
  Verdict of_aux =
      judge_output(checked.aux, aux_reference_, sums, kGuardRows, roundings, comparison_, stream);
  if (!of_aux.correct) of_aux.message = "the second output: " + of_aux.message;
  return of_aux.correct ? verdict : of_aux;
}

namespace {

Verdict verdict_from(const DeviceMemory& comparison, const GemmProblem& problem, int roundings,
                     const Stream& stream) {
  OutputComparison found{};
  check(cudaMemcpyAsync(&found, comparison.data(), sizeof found, cudaMemcpyDeviceToHost,
                        stream.get()),
        "reading the comparison");
  stream.synchronize();
  return judge(found, problem, roundings);
}

}  // namespace

Verdict judge_output(const void* d, const DeviceMemory& reference, const GemmProblem& problem,
                     std::int64_t guard_rows, int roundings, const DeviceMemory& comparison,
                     const Stream& stream) {
  compare(comparison.as<OutputComparison>(), d, reference.as<float>(), problem.extents(),
          guard_rows * problem.leading_d(), problem.d_type,
          problem.has_8_bit_output() ? kScaleD : 1.0F,
          static_cast<float>(problem.tolerance(roundings)), {}, stream.get());
  return verdict_from(comparison, problem, roundings, stream);
}

Verdict judge_scaled_output(const void* d, const DeviceMemory& reference, const float* scales,
                            const DeviceMemory& scales_reference, const GemmProblem& problem,
                            std::int64_t guard_rows, std::int64_t guard, int roundings,
                            const DeviceMemory& comparison, const Stream& stream) {
  const auto tolerance = static_cast<float>(problem.tolerance(roundings));
  // A row for each block of columns of D. With a gate judge() halves N.
  GemmProblem all_scales = problem;
  all_scales.m = scale_blocks(problem.d_columns());
  all_scales.n = problem.is_gated() ? 2 * problem.m : problem.m;
  ProblemExtents extents = all_scales.extents();
  extents.ldd = scale_leading(problem.m);
  // A scale is a magnitude over the largest value of the type.
  compare(comparison.as<OutputComparison>(), scales, scales_reference.as<float>(), extents, guard,
          DataType::kFp32, 1.0F / static_cast<float>(largest_of(problem.d_type)), tolerance, {},
          stream.get());
  Verdict verdict = verdict_from(comparison, all_scales, roundings, stream);
  if (!verdict.correct) {
    verdict.message =
        "the scales of D (a row for each 128 columns, a column for each row): " + verdict.message;
    return verdict;
  }
  compare(comparison.as<OutputComparison>(), d, reference.as<float>(), problem.extents(),
          guard_rows * problem.leading_d(), problem.d_type, 1, tolerance,
          {scales, scale_leading(problem.m)}, stream.get());
  Verdict of_d = verdict_from(comparison, problem, roundings, stream);
  if (of_d.correct) of_d.error = std::max(of_d.error, verdict.error);
  return of_d;
}

}  // namespace hgemm
