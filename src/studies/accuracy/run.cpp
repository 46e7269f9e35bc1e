#include "studies/accuracy/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "device/blas.h"
#include "device/data_kernels.h"
#include "device/exact_kernels.h"
#include "device/loaded_kernel.h"
#include "device/problem_data.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "studies/accuracy/accuracy.h"

namespace hgemm {
namespace {

/// Operands of 8 bits that grow are multiplied by two to -7 to 3 each: the smallest still have
/// several values of e4m3 (multiples of 2^-9), and no sum is too large for an fp16 D.
constexpr int kLowest = -7;
static_assert(kAccuracyOctaves % 2 == 0);

std::size_t bytes_of(std::int64_t elements, DataType type) {
  return matrix_bytes(1, elements, type);
}

/// How magnitudes grow along K if one factor does all of it, or each of two a half.
OperandShape growth(AccuracyData data, std::int64_t k, int lowest, int rise) {
  OperandShape shape{.block = kScaleBlock, .lowest = lowest, .rise = rise};
  if (data == AccuracyData::kLargeBlock) shape.peak = scale_blocks(k) / 2;
  return shape;
}
bool grows(AccuracyData data) {
  return data == AccuracyData::kGrowing || data == AccuracyData::kLargeBlock;
}

OperandShape shape_of(AccuracyData data, const GemmProblem& problem, bool is_a) {
  if (grows(data) && !is_of_blocks(problem.scaling)) {
    return growth(data, problem.k, kLowest, kAccuracyOctaves / 2);
  }
  OperandShape shape;
  shape.one_sign = data == AccuracyData::kOneSign || data == AccuracyData::kCancelling;
  if (data == AccuracyData::kCancelling) {
    shape.repeats = true;
    shape.negated = is_a;
    // What is left has a root mean square of about a tenth of the square root of K.
    shape.unpaired = std::max<std::int64_t>(1, problem.k / 64);
  }
  return shape;
}

/// The operands of one problem, filled anew for each kind of data.
class AccuracyOperands {
 public:
  AccuracyOperands(const GemmProblem& problem, std::uint64_t seed, const Bench& bench)
      : problem_(problem),
        seed_(seed),
        bench_(bench),
        extents_(problem.for_cublaslt().extents()),
        a_(bytes_of(spanned_elements(all_of_a(extents_)), problem.a_type)),
        b_(bytes_of(spanned_elements(all_of_b(extents_)), problem.b_type)),
        d_(bytes_of(spanned_elements(all_of_d(extents_)), problem.d_type)),
        scale_a_(bytes_of(problem.scales_of_a(), DataType::kFp32)),
        scale_b_(bytes_of(problem.for_cublaslt().scales_of_b(), DataType::kFp32)),
        exact_(static_cast<std::size_t>(problem.m * problem.n) * sizeof(double)),
        sums_(sizeof(ErrorSums)) {}

  Operands operands() const {
    return {.a = a_.data(),
            .b = b_.data(),
            .d = d_.data(),
            .scale_a = scale_a_.as<float>(),
            .scale_b = scale_b_.as<float>()};
  }

  /// Fills the operands and computes their exact product.
  void fill(AccuracyData data) {
    const cudaStream_t stream = bench_.stream.get();
    for (const DeviceMemory* matrix : {&a_, &b_}) poison(*matrix);  // the padding of rows
    // With these, sums of normal data are N(0, 1).
    const bool is_scaled = grows(data) && !is_of_blocks(problem_.scaling);
    const auto sigma =
        is_scaled ? 1.0F : static_cast<float>(std::pow(static_cast<double>(problem_.k), -0.25));
    fill_shaped(a_.data(), problem_.a_type, problem_.a_major(), problem_.leading_a(), problem_.m,
                problem_.k, shape_of(data, problem_, true), sigma, seed_, 0, stream);
    fill_shaped(b_.data(), problem_.b_type, problem_.b_major(), problem_.leading_b(), problem_.n,
                problem_.k, shape_of(data, problem_, false), sigma, seed_, 1, stream);
    fill_scale(scale_a_, kScaleA, data, true);
    fill_scale(scale_b_, kScaleB, data, false);
    multiply_exactly(exact_.as<double>(), problem_, operands(), stream);
    poison(d_);
    bench_.stream.synchronize();
  }

  ErrorSums compare() const {
    compare_exactly(sums_.as<ErrorSums>(), d_.data(), exact_.as<double>(), problem_,
                    bench_.stream.get());
    ErrorSums found;
    check(cudaMemcpyAsync(&found, sums_.data(), sizeof found, cudaMemcpyDeviceToHost,
                          bench_.stream.get()),
          "reading errors");
    bench_.stream.synchronize();
    return found;
  }

 private:
  void poison(const DeviceMemory& memory) const {
    check(cudaMemsetAsync(memory.data(), kPoisonByte, memory.bytes(), bench_.stream.get()),
          "poisoning a matrix");
  }

  /// Scales of rows are random. Those of blocks differ along K only, and only if the data grows, so
  /// that sums that should cancel do. Those of B are all equal, so that padded and packed ones are
  /// the same.
  void fill_scale(const DeviceMemory& memory, float factor, AccuracyData data, bool is_a) const {
    const std::size_t count = memory.bytes() / sizeof(float);
    if (count == 0) return;
    if (problem_.scaling == Scaling::kRows) {
      fill_scales(memory.as<float>(), static_cast<std::int64_t>(count), seed_, is_a ? 2 : 3,
                  bench_.stream.get());
      return;
    }
    std::vector<float> values(count, factor);
    if (is_a && is_of_blocks(problem_.scaling) && grows(data)) {
      const OperandShape shape = growth(data, problem_.k, 2 * kLowest, kAccuracyOctaves);
      const std::int64_t blocks = scale_blocks(problem_.k);
      const auto row = static_cast<std::int64_t>(count) / blocks;
      for (std::size_t i = 0; i < count; ++i) {
        values[i] = std::ldexp(factor, shape.exponent(static_cast<std::int64_t>(i) / row, blocks));
      }
    }
    check(cudaMemcpyAsync(memory.data(), values.data(), memory.bytes(), cudaMemcpyHostToDevice,
                          bench_.stream.get()),
          "copying scales");
    bench_.stream.synchronize();  // before the values are freed
  }

  const GemmProblem& problem_;
  std::uint64_t seed_;
  const Bench& bench_;
  ProblemExtents extents_;  ///< with the rows that cuBLASLt reads and writes
  DeviceMemory a_, b_, d_, scale_a_, scale_b_, exact_, sums_;
};

/// Refuses a problem that does not fit, before memory is asked for.
void check_memory(const GemmProblem& problem, const Gpu& device) {
  const auto m = static_cast<double>(problem.m);
  const auto n = static_cast<double>(problem.n);
  const auto k = static_cast<double>(problem.k);
  constexpr double kReservedBytes = 1.5e9;  // for workspaces and loaded kernels
  const double needed = problem.bytes() + m * n * sizeof(double) +
                        std::max(m, n) * k * sizeof(float) + kReservedBytes;
  const auto free_bytes = static_cast<double>(free_device_bytes());
  if (needed <= free_bytes) return;
  throw InputError(fmt::format(
      "{} needs {:.1f} GB of device memory, and {} has {:.1f} GB free; leave the problem out",
      to_string(problem), needed * 1e-9, device.name, free_bytes * 1e-9));
}

/// What computes D, and how often it may round an output.
struct Launcher {
  std::function<void(cudaStream_t)> launch;
  int roundings = 1;
};

Launcher kernel_launcher(const StudyRequest& request, const Cubin& cubin,
                         const Operands& operands) {
  const GemmProblem& problem = *request.problem;
  const Kernel kernel = kernel_for(parse_label(request.label), problem);
  const auto loaded = std::make_shared<const LoadedKernel>(kernel, cubin);
  const int ctas = loaded->grid_ctas(problem);
  const auto workspace = std::make_shared<const Workspace>(loaded->make_workspace(problem, ctas));
  const LaunchParams params = make_params(kernel, problem, operands, *workspace);
  return {[loaded, workspace, params, ctas](cudaStream_t stream) {
            loaded->launch(params, ctas, stream);
          },
          1};
}

Launcher library_launcher(const GemmProblem& problem, const Operands& operands) {
  if (!problem.has_8_bit_operands()) {
    const auto blas = std::make_shared<Cublas>();
    return {
        [blas, problem, operands](cudaStream_t stream) { blas->gemm(problem, operands, stream); },
        kLibraryRoundings};
  }
  const auto plan = std::make_shared<CublasLtPlan>(problem);
  if (plan->algorithms() == 0) {
    throw Error(fmt::format("cuBLASLt has no algorithm for {}", to_string(problem)));
  }
  return {[plan, operands](cudaStream_t stream) { plan->gemm(0, operands, stream); },
          kLibraryRoundings};
}

SumErrors errors_from(const ErrorSums& sums, const GemmProblem& problem) {
  const auto outputs = static_cast<double>(problem.m) * static_cast<double>(problem.n);
  const double exact_rms = std::sqrt(sums.exact_squares / outputs);
  return {.worst = sums.worst / exact_rms,
          .rms = std::sqrt(sums.squares / outputs) / exact_rms,
          .bias = sums.away_from_zero / outputs / exact_rms,
          .exact_rms = exact_rms,
          .outputs = problem.m * problem.n};
}

/// Whether D is a result at all. Sets the study's status if it is none.
bool is_plausible(const ErrorSums& sums, const AccuracyKind& kind, double tolerance, Study& study) {
  if (sums.not_finite > 0) {
    study.message =
        fmt::format("{} outputs are no numbers with data \"{}\"", sums.not_finite, kind.text);
  } else if (sums.exact_squares == 0) {
    study.message = fmt::format("the exact product is zero with data \"{}\"", kind.text);
  } else if (kind.data == AccuracyData::kNormal) {
    study.verdict.error = sums.worst_relative;
    study.verdict.tolerance = tolerance;
    study.verdict.correct = sums.worst_relative <= tolerance;
    if (!study.verdict.correct) {
      study.message = fmt::format("an output is off by {:.3g}, more than the tolerance of {:.3g}",
                                  sums.worst_relative, tolerance);
    }
  }
  if (study.message.empty()) return true;
  study.verdict.correct = false;
  study.verdict.message = study.message;
  study.status = Status::kWrongResult;
  study.figures.clear();
  return false;
}

}  // namespace

Study run_accuracy(const StudyRequest& request, const Cubin& cubin, const Bench& bench) {
  if (!request.problem) throw Error("the accuracy of sums is that of a problem");
  const GemmProblem& problem = *request.problem;
  Study study;
  study.kind = request.kind;
  study.label = request.label;
  study.problem = problem;
  const bool is_library = request.label == kCublasLabel;
  const char* reason = why_no_accuracy(problem);
  if (reason == nullptr && !is_library) reason = why_not(parse_label(request.label), problem);
  if (reason != nullptr) {
    study.status = Status::kInvalidConfig;
    study.message = reason;
    return study;
  }
  // The exact products take most of it: fp64 on CUDA cores, at a tenth of an H100's rate.
  constexpr double kExactFlopsPerMs = 3e9;
  check_memory(problem, bench.device);
  AccuracyOperands operands(problem, request.seed, bench);
  const Launcher launcher = is_library ? library_launcher(problem, operands.operands())
                                       : kernel_launcher(request, cubin, operands.operands());
  for (const AccuracyKind& kind : accuracy_kinds()) {
    if (bench.on_step) {
      bench.on_step({"comparing sums", request.label, true, problem.flops() / kExactFlopsPerMs});
    }
    operands.fill(kind.data);
    launcher.launch(bench.stream.get());
    const ErrorSums sums = operands.compare();
    if (!is_plausible(sums, kind, problem.tolerance(launcher.roundings), study)) return study;
    add_figures(study.figures, kind.name, errors_from(sums, problem));
  }
  return study;
}

}  // namespace hgemm
