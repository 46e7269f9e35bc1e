#include "gemm/problem.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "gemm/codec.h"

namespace hgemm {
namespace {

/// Largest relative error of rounding to nearest in the type.
double unit_roundoff(DataType type) {
  switch (type) {
    case DataType::kBf16:
      return 0x1p-8;
    case DataType::kFp16:
      return 0x1p-11;
    case DataType::kFp32:
      return 0x1p-24;
    case DataType::kE4m3:
      return 0x1p-4;
    case DataType::kE5m2:
      return 0x1p-3;
  }
  return 0;  // unknown type: no result counts as correct
}

/// Error of the kernels' activations against those of the reference: their exponentials and
/// reciprocals are good to 2^-21 (kernels/common/epilogue.cuh), and a GELU's argument has a cube.
constexpr double kActivationError = 0x1p-19;

/// Bound on the alpha with which results are verified (device/problem_data.h).
constexpr double kLargestAlpha = 2;

/// Bound on a scale of A times one of B with which results are verified (device/problem_data.h).
constexpr double kLargestScales = 2.25;

/// Bound on gates and ups, which have a standard deviation of 1.
constexpr double kLargestFactor = 8;

double elements(std::int64_t rows, std::int64_t cols) {
  return static_cast<double>(rows) * static_cast<double>(cols);
}

}  // namespace

bool GemmProblem::same_problem(const GemmProblem& other) const {
  return extents() == other.extents() && a_type == other.a_type && b_type == other.b_type &&
         d_type == other.d_type && c_type == other.c_type && accumulator == other.accumulator &&
         layout == other.layout && scaling == other.scaling &&
         output_scaling == other.output_scaling && epilogue == other.epilogue && data == other.data;
}

ProblemExtents GemmProblem::extents() const {
  ProblemExtents p{m,           n,         k,         leading_a(), leading_b(),
                   leading_d(), a_major(), b_major(), is_gated()};
  p.batch.by_pointers = by_pointers;
  p.batch = batch_without_gaps(p, batch);
  if (batch == 1) return p;
  p.batch.stride_a = stride_a.value_or(p.batch.stride_a);
  p.batch.stride_b = stride_b.value_or(p.batch.stride_b);
  p.batch.stride_d = stride_d.value_or(p.batch.stride_d);
  return p;
}

GemmProblem GemmProblem::product() const {
  GemmProblem plain = *this;
  plain.epilogue = {.scaled = epilogue.scaled};
  plain.c_type = std::nullopt;
  if (is_gated() || has_8_bit_output()) plain.ldd = 0;
  if (has_8_bit_output()) {
    plain.d_type = added_type();
    plain.output_scaling = OutputScaling::kGiven;
    plain.stride_d = std::nullopt;
  }
  return plain;
}

GemmProblem GemmProblem::merged() const {
  const ProblemExtents all = hgemm::merged(extents());
  GemmProblem one = *this;
  if (all.batch.count > 1) return one;
  one.m = all.m;
  one.n = all.n;
  one.ldd = all.ldd;
  one.batch = 1;
  one.stride_a = one.stride_b = one.stride_d = std::nullopt;
  return one;
}

GemmProblem GemmProblem::for_cublaslt() const {
  GemmProblem given = *this;
  if (is_of_blocks(scaling)) given.m = scale_leading(m);  // the rows of A whose scales have room
  if (scaling == Scaling::kPackedBlocks) given.scaling = Scaling::kBlocks;
  return given;
}

double GemmProblem::flops() const {
  return 2.0 * static_cast<double>(batch) * elements(m, n) * static_cast<double>(k);
}
double GemmProblem::a_bytes() const {
  return element_bytes(a_type) * static_cast<double>(all_of_a(extents()).count) * elements(m, k);
}
double GemmProblem::b_bytes() const {
  return element_bytes(b_type) * static_cast<double>(all_of_b(extents()).count) * elements(n, k);
}
double GemmProblem::d_bytes() const {
  return element_bytes(d_type) * static_cast<double>(batch) * elements(m, d_columns());
}
std::int64_t GemmProblem::bias_length() const {
  return epilogue.bias == Bias::kAlongN ? n : epilogue.bias == Bias::kAlongM ? m : 0;
}
double GemmProblem::epilogue_bytes() const {
  const double addends =
      (c_type ? d_bytes() / element_bytes(d_type) : 0) + static_cast<double>(bias_length());
  return (epilogue.aux ? d_bytes() : 0) + addends * element_bytes(added_type()) +
         static_cast<double>(scales_of_a() + scales_of_b() + scales_of_d()) *
             element_bytes(DataType::kFp32);
}
namespace {

/// Scales of an operand with so many rows. `in_blocks`: of kScaleBlock rows each, if B has these.
std::int64_t scale_numbers(Scaling scaling, std::int64_t rows, std::int64_t k, bool in_blocks) {
  switch (scaling) {
    case Scaling::kNone:
      return 0;
    case Scaling::kTensor:
      return 1;
    case Scaling::kRows:
      return rows;
    case Scaling::kBlocks:
    case Scaling::kPackedBlocks:
      if (in_blocks) return spanned_elements(scales_of_b(scaling, rows, k));
      [[fallthrough]];
    case Scaling::kRowBlocks:
      return scale_leading(rows) * scale_blocks(k);
  }
  return 0;
}

}  // namespace

std::int64_t GemmProblem::scales_of_a() const { return scale_numbers(scaling, m, k, false); }
std::int64_t GemmProblem::scales_of_b() const { return scale_numbers(scaling, n, k, true); }
std::int64_t GemmProblem::scales_of_d() const {
  return finds_scales_of_d() ? scale_numbers(Scaling::kBlocks, m, d_columns(), false) : 0;
}

namespace {

/// Error of the sums of 8-bit products in units of their standard deviation. The tensor cores align
/// the products of a step of 32, and the sum so far, to the largest exponent, and keep 13 bits of
/// the fraction (MMA-Sim, arXiv 2511.10909; DeepSeek-V3, arXiv 2412.19437). Simulated with normal
/// data, the root of the mean squared error is 3.4e-4 if sums are promoted every 512 products, at
/// any K, and less if more often. For sums that stay there it is 3.5e-4, 1.3e-3 and 3.3e-3 for K of
/// 512, 4096 and 16384: 5.5e-6 K^(2/3). The bounds are 8 times as large (1 of 1e15 normal errors).
double error_of_8_bit_sums(double products, Accumulator accumulator) {
  constexpr double kDeviations = 8;
  constexpr double kPromoted = 3.4e-4;
  constexpr double kFast = 5.5e-6;
  const double fast = kFast * std::cbrt(products * products);
  const double error = accumulator == Accumulator::kFast ? std::max(fast, kPromoted) : kPromoted;
  return kDeviations * error;
}

}  // namespace

/// Rounding to the output type gives at most one unit roundoff (bf16: 2^-8, fp16: 2^-11, fp32:
/// 2^-24). Accumulating K products of 16-bit operands in fp32 in another order than the reference
/// gives less than K / 16 roundings of 2^-23 (one for each wgmma step).
///
/// With fp32 operands, no larger output rounding hides the accumulation error, and FMAs on CUDA
/// cores round K times. The partial sums of an output r of variance 1 are a random walk from 0 to
/// r, with a mean square of at most (r^2 + 1) / 3. Each rounding has a standard deviation of 0.6
/// unit roundoffs u = 2^-24 (uniform: 1 / sqrt(3)). Sums in two orders then differ with a standard
/// deviation of 0.6 u sqrt(2 K / 3) (|r| + 1), half of u sqrt(K) (|r| + 1). The largest of 2^32
/// outputs lies 6.5 standard deviations out. With room for walks that stray, the bound is 8 u
/// sqrt(K) = 2^-21 sqrt(K). Operands rounded to TF32 (2^-11) exceed it 10 times at K = 4096; one
/// missing product exceeds it 300 times.
///
/// fp32 outputs of 16-bit operands show both effects: the roundings of the tensor cores, and the
/// walk of the reference's own K roundings.
double GemmProblem::tolerance(int roundings) const {
  const auto products = static_cast<double>(k);
  const double walk = std::sqrt(products) * 0x1p-21;
  const double tensor_cores = products / 16.0 * 0x1p-23;
  double accumulation = a_type == DataType::kFp32 ? walk : tensor_cores;
  if (a_type != DataType::kFp32 && d_type == DataType::kFp32) accumulation += walk;
  if (has_8_bit_operands()) accumulation += error_of_8_bit_sums(products, accumulator);
  if (scaling != Scaling::kNone) accumulation *= kLargestScales;
  // C and the bias may cancel a sum, whose error is that of a larger output.
  if (reads_operands(kind())) accumulation *= 2;
  if (epilogue.scaled) accumulation *= kLargestAlpha;
  if (epilogue.activation != Activation::kNone) accumulation += kActivationError;
  // The error of an up counts times its activated gate, and the other way round, against 1 plus
  // their product: at most where one of them is small and the other large.
  if (is_gated()) accumulation *= kLargestFactor;
  // Those before the last one are of gates and ups, whose errors count likewise: a gate and an up
  // with 3.1 roundings each (parts of K added in the type of D) gave up to 7.3, simulated.
  const int all = is_gated() && roundings > 1 ? 2 * roundings : roundings;
  if (has_8_bit_output()) return (all - 1) * unit_roundoff(added_type()) + accumulation;
  return all * unit_roundoff(d_type) + accumulation;
}

GemmProblem::Baselines GemmProblem::baselines() const {
  const char* why_none = nullptr;
  // cuBLAS docs, cublasLtMatmul, and "128-element 1D and 128x128 2D block scaling".
  if (a_type == DataType::kE5m2 && b_type == DataType::kE5m2) {
    why_none = "cuBLASLt has no product of two e5m2 matrices";
  } else if (is_of_blocks(scaling) && n % 4 != 0) {
    why_none = "cuBLASLt takes scales of blocks only if N is a multiple of 4";
  }
  // fp32 operands are for studies of CUDA cores. Their only baseline is SGEMM.
  return {.cublas = why_none == nullptr,
          .cublaslt = why_none == nullptr && a_type != DataType::kFp32,
          .why_none = why_none};
}

namespace {

/// Why no kernel multiplies the operands as they are, or nullptr.
const char* why_unsupported_8_bit(const GemmProblem& p) {
  if (!is_8_bit(p.a_type) && !is_8_bit(p.b_type)) {
    if (p.accumulator == Accumulator::kFast) {
      return "fast sums are for 8-bit operands: the tensor cores keep all fp32 bits of 16-bit ones";
    }
    return p.scaling == Scaling::kNone ? nullptr : "scales are for 8-bit operands";
  }
  if (!is_8_bit(p.a_type) || !is_8_bit(p.b_type)) {
    return "8-bit operands come in pairs: A and B are each e4m3 or e5m2";
  }
  if (p.layout != Layout::kTN) {
    return "8-bit operands must be contiguous in K (layout TN): wgmma reads no others";
  }
  const StoredMatrices a = all_of_a(p.extents());
  const StoredMatrices b = all_of_b(p.extents());
  if (p.k % kUnitBytes != 0 || !rows_are_aligned(a, p.a_type) || !rows_are_aligned(b, p.b_type)) {
    return "K of 8-bit operands, their leading dimensions and the strides of a batch must be "
           "multiples of 16: rows begin at multiples of 16 bytes";
  }
  if (is_of_blocks(p.scaling) && p.accumulator == Accumulator::kFast) {
    return "scales of blocks go with fp32 sums: what each block of K adds is scaled by itself";
  }
  if (is_of_blocks(p.scaling) && p.is_gated()) return "a gate has no scales of blocks yet";
  if (is_of_blocks(p.scaling) && p.batch > 1) {
    return "the products of a batch have no scales of blocks yet: scaling-tensor has one scale "
           "of A and one of B for all of them";
  }
  return p.batch > 1 && p.scaling == Scaling::kRows ? "the products of a batch have no scales of "
                                                      "rows yet: scaling-tensor has one scale of "
                                                      "A and one of B for all of them"
                                                    : nullptr;
}

}  // namespace

const char* why_unsupported(const GemmProblem& problem) {
  if (problem.has_8_bit_output() && !problem.has_8_bit_operands()) {
    return "a D of 8 bits goes with 8-bit A and B";
  }
  if (problem.finds_scales_of_d() && !problem.has_8_bit_output()) {
    return "dscaling-blocks finds the scales of a D of 8 bits: add de4m3 or de5m2";
  }
  if (problem.finds_scales_of_d() && problem.batch > 1) {
    return "the products of a batch have no scales of D of their own yet: without dscaling-blocks "
           "one number that is given scales all of them";
  }
  if (problem.has_8_bit_output() && problem.epilogue.aux) {
    return "a second output (aux) has no 8-bit type yet: D is bf16, fp16 or fp32";
  }
  if (const char* reason = why_unsupported_8_bit(problem)) return reason;
  if (problem.a_type != problem.b_type && !problem.has_8_bit_operands()) {
    return "A and B must have the same type";
  }
  if (problem.c_type && *problem.c_type != problem.added_type()) {
    return problem.has_8_bit_output() ? "C is bf16 where D has 8 bits"
                                      : "C must have the type of D";
  }
  if (const char* reason = why_no_epilogue(problem.kind())) return reason;
  return why_unsupported(problem.extents());
}

std::string types_text(const GemmProblem& problem) {
  std::string text(to_string(problem.a_type));
  if (problem.b_type != problem.a_type) text += ".b" + std::string(to_string(problem.b_type));
  if (problem.d_type != default_output(problem.a_type)) {
    text += ".d" + std::string(to_string(problem.d_type));
  }
  if (problem.accumulator != Accumulator::kFp32) {
    text += ".acc" + std::string(to_string(problem.accumulator));
  }
  return text;
}

std::string_view to_string(DataType type) {
  switch (type) {
    case DataType::kBf16:
      return "bf16";
    case DataType::kFp16:
      return "fp16";
    case DataType::kFp32:
      return "fp32";
    case DataType::kE4m3:
      return "e4m3";
    case DataType::kE5m2:
      return "e5m2";
  }
  return "?";
}
std::string_view to_string(Layout layout) {
  switch (layout) {
    case Layout::kTN:
      return "TN";
    case Layout::kNN:
      return "NN";
    case Layout::kNT:
      return "NT";
    case Layout::kTT:
      return "TT";
  }
  return "?";
}

namespace {

constexpr Word<Scaling> kScalings[] = {{"none", Scaling::kNone},
                                       {"tensor", Scaling::kTensor},
                                       {"rows", Scaling::kRows},
                                       {"blocks", Scaling::kBlocks},
                                       {"row_blocks", Scaling::kRowBlocks},
                                       {"packed_blocks", Scaling::kPackedBlocks}};
constexpr Word<OutputScaling> kOutputScalings[] = {{"given", OutputScaling::kGiven},
                                                   {"blocks", OutputScaling::kBlocks}};
constexpr Word<Accumulator> kAccumulators[] = {{"fp32", Accumulator::kFp32},
                                               {"fast", Accumulator::kFast}};

}  // namespace

std::string_view to_string(Scaling scaling) { return word_of(kScalings, scaling); }
std::string_view to_string(OutputScaling scaling) { return word_of(kOutputScalings, scaling); }
std::string_view to_string(Accumulator accumulator) { return word_of(kAccumulators, accumulator); }
std::optional<Scaling> find_scaling(std::string_view word) { return find_word(kScalings, word); }
std::optional<OutputScaling> find_output_scaling(std::string_view word) {
  return find_word(kOutputScalings, word);
}
std::optional<Accumulator> find_accumulator(std::string_view word) {
  return find_word(kAccumulators, word);
}

namespace {

constexpr std::string_view kPlain = "plain";
constexpr std::string_view kScaled = "scaled";
constexpr std::string_view kInterleaved = "interleaved";
constexpr std::string_view kAux = "aux";
constexpr Word<Bias> kBiases[] = {
    {"", Bias::kNone}, {"bias", Bias::kAlongN}, {"biasm", Bias::kAlongM}};
constexpr Word<Activation> kActivations[] = {{"", Activation::kNone},
                                             {"relu", Activation::kRelu},
                                             {"gelu", Activation::kGelu},
                                             {"gelu_erf", Activation::kGeluErf},
                                             {"silu", Activation::kSilu}};
/// With a gate.
constexpr Word<Activation> kGatedActivations[] = {{"bilinear", Activation::kNone},
                                                  {"reglu", Activation::kRelu},
                                                  {"geglu", Activation::kGelu},
                                                  {"geglu_erf", Activation::kGeluErf},
                                                  {"swiglu", Activation::kSilu}};

}  // namespace

std::string to_string(const Epilogue& epilogue) {
  std::string text;
  const auto add = [&](std::string_view word) {
    if (!text.empty() && !word.empty()) text += '-';
    text += word;
  };
  const bool is_gated = epilogue.gate != Gate::kNone;
  if (epilogue.scaled) add(kScaled);
  add(word_of(kBiases, epilogue.bias));
  add(word_of(is_gated ? kGatedActivations : kActivations, epilogue.activation));
  if (epilogue.gate == Gate::kInterleaved) add(kInterleaved);
  if (epilogue.aux) add(kAux);
  return text.empty() ? std::string(kPlain) : text;
}

std::optional<Epilogue> find_epilogue(std::string_view word) {
  for (const auto& bias : kBiases) {
    for (const auto& activation : kActivations) {
      for (const Gate gate : {Gate::kNone, Gate::kHalves, Gate::kInterleaved}) {
        for (const bool scaled : {false, true}) {
          for (const bool aux : {false, true}) {
            const Epilogue epilogue{bias.value, activation.value, gate, scaled, aux};
            if (to_string(epilogue) == word) return epilogue;
          }
        }
      }
    }
  }
  return std::nullopt;
}

std::optional<DataType> find_data_type(std::string_view word) {
  for (const DataType type :
       {DataType::kBf16, DataType::kFp16, DataType::kFp32, DataType::kE4m3, DataType::kE5m2}) {
    if (word == to_string(type)) return type;
  }
  return std::nullopt;
}
std::optional<Layout> find_layout(std::string_view word) {
  for (const Layout layout : {Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT}) {
    if (word == to_string(layout)) return layout;
  }
  return std::nullopt;
}

}  // namespace hgemm
