// Uses exported kernels in the same way as any project. It checks the result of every tuned shape,
// and times it in turns with cublasGemmEx, as hgemm-tune did when it chose the kernels
// (src/device/protocol.h of hgemm-tune).
//
// A sample is one replay of a CUDA graph of many launches. The launches rotate over input sets that
// exceed three times the L2 cache; memory-bound shapes have at least 16 sets. The GPU is brought to
// full load before. With more than kLightLoad FLOP per byte (M = 64 and more) it may reach its
// power cap, and its clock then depends on the work before. So each candidate runs alone for
// kLeadInMs there, and is then timed for kOwnMs.
//
// All timed kernels, and all kernels before them, run on one stream, and each sample follows empty
// kernels with PDL, as in hgemm-tune. Once a process has had kernels on two streams at the same
// time, or six launches without PDL, each of its kernels starts 0.2 to 0.35 us later after the
// previous one, cuBLAS's kernels too (results/h200/export/two-streams.md,
// results/h100-80gb-hbm3/launch-modes.md).
//
// example [--shape MxNxK[.fp16][.dfp32]]... [--rest MS] [--checks-first]
//   --shape         only this tuned shape; several are measured in the given order
//   --rest          the GPU idles for this time before each shape, so that clock and power are
//                   those of a fresh start, not of the previous shape
//   --checks-first  runs the checks of the package, which use two streams at once, before timing
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <random>
#include <thread>
#include <tuple>

#include "clock.h"
#include "common.h"

using hgemm_tuned::Dtype;
using hgemm_tuned::Output;
using hgemm_tuned::Problem;

namespace {

constexpr double kSampleUs = 2000;
constexpr int kSharedRounds = 60;
constexpr double kLeadInMs = 100, kOwnMs = 300;
constexpr int kOwnRounds = 5;
constexpr double kLightLoad = 40;  // FLOP per byte: above it the GPU may reach its power cap

__global__ void empty_kernel() {}

/// Launches with PDL keep later launches fast, if they are more than those without, such as the
/// two of a sample's clock stamps. hgemm-tune does the same; this example must build without it.
void keep_launches_fast(cudaStream_t stream) {
  cudaLaunchAttribute pdl{};
  pdl.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  pdl.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(32);
  config.stream = stream;
  config.attrs = &pdl;
  config.numAttrs = 1;
  for (int i = 0; i < 4; ++i) check(cudaLaunchKernelEx(&config, empty_kernel), "an empty kernel");
}

struct Stopwatch {
  cudaEvent_t start, stop;
  Stopwatch() {
    check(cudaEventCreate(&start), "creating an event");
    check(cudaEventCreate(&stop), "creating an event");
  }
  double us() const {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, start, stop), "timing");
    return ms * 1e3;
  }
};

/// A graph of launches over all input sets.
class Candidate {
 public:
  template <class Launch>
  Candidate(cudaStream_t stream, int sets, const Launch& launch) {
    capture(stream, sets, launch);
    replay(stream);  // not timed, because the first one loads the kernels
    Stopwatch watch;
    check(cudaEventRecord(watch.start, stream), "timing");
    replay(stream);
    check(cudaEventRecord(watch.stop, stream), "timing");
    check(cudaStreamSynchronize(stream), "running");
    const double us = watch.us() / launches_;
    const int wanted = static_cast<int>(std::min(4096.0, kSampleUs / us));
    capture(stream, std::max(sets, (wanted + sets - 1) / sets * sets), launch);
    replay(stream);
    check(cudaStreamSynchronize(stream), "running");
    replay_us_ = us * launches_;
  }
  Candidate(const Candidate&) = delete;
  ~Candidate() { cudaGraphExecDestroy(graph_); }

  void replay(cudaStream_t stream) const {
    check(cudaGraphLaunch(graph_, stream), "launching a graph");
  }
  void replay_for(cudaStream_t stream, double ms) const {
    for (int i = 0; i < replays_in(ms); ++i) replay(stream);
  }
  int replays_in(double ms) const {
    return std::max(1, static_cast<int>(std::lround(ms * 1e3 / replay_us_)));
  }
  int launches() const { return launches_; }

  std::vector<double> us;   ///< time of a launch, by round
  std::vector<double> mhz;  ///< clock of the SMs in the meantime

 private:
  template <class Launch>
  void capture(cudaStream_t stream, int launches, const Launch& launch) {
    if (graph_ != nullptr) check(cudaGraphExecDestroy(graph_), "destroying");
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capturing");
    for (int i = 0; i < launches; ++i) launch(i);
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream, &graph), "capturing");
    check(cudaGraphInstantiate(&graph_, graph, 0), "instantiating");
    check(cudaGraphDestroy(graph), "destroying");
    check(cudaGraphUpload(graph_, stream), "uploading");  // otherwise the first replay does it
    launches_ = launches;
  }

  cudaGraphExec_t graph_ = nullptr;
  int launches_ = 0;
  double replay_us_ = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// A 95 % interval of the median by order statistics; the range if there are too few values.
std::pair<double, double> interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(n / 2 - 0.98 * std::sqrt(n))));
  return {values[low], values[values.size() - 1 - low]};
}

struct Result {
  Problem problem;
  hgemm_tuned::Selection selection;
  double error = 0, us = 0, their_us = 0, ratio = 0, low = 0, high = 0;
  double mhz = 0, their_mhz = 0;
};

void time_in_turns(cudaStream_t stream, bool heavy, Candidate* candidates[2],
                   std::mt19937& random) {
  candidates[1]->replay_for(stream, heavy ? 1000 : 300);  // brings the GPU to full load
  const int rounds = heavy ? kOwnRounds : kSharedRounds;
  std::vector<Stopwatch> watches(static_cast<std::size_t>(2 * rounds));
  const SmClock clock(2 * rounds, stream);
  std::vector<int> order;
  for (int round = 0; round < rounds; ++round) {
    const int first = static_cast<int>(random() % 2);
    for (const int which : {first, 1 - first}) {
      const Candidate& candidate = *candidates[which];
      keep_launches_fast(stream);
      if (heavy) candidate.replay_for(stream, kLeadInMs);
      const int sample = static_cast<int>(order.size());
      const Stopwatch& watch = watches[order.size()];
      order.push_back(which);
      clock.begin(sample, stream);
      check(cudaEventRecord(watch.start, stream), "timing");
      if (heavy) {
        candidate.replay_for(stream, kOwnMs);
      } else {
        candidate.replay(stream);
      }
      check(cudaEventRecord(watch.stop, stream), "timing");
      clock.end(sample, stream);
    }
  }
  check(cudaStreamSynchronize(stream), "running");
  const std::vector<double> mhz = clock.mhz();
  for (std::size_t i = 0; i < order.size(); ++i) {
    Candidate& candidate = *candidates[order[i]];
    const int replays = heavy ? candidate.replays_in(kOwnMs) : 1;
    candidate.us.push_back(watches[i].us() / (candidate.launches() * replays));
    candidate.mhz.push_back(mhz[i]);
    check(cudaEventDestroy(watches[i].start), "destroying");
    check(cudaEventDestroy(watches[i].stop), "destroying");
  }
}

int rotation_sets(const Problem& p, double bytes, double intensity) {
  int device = 0;
  int l2_bytes = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, device), "asking for L2");
  const int exceed = 3.0 * l2_bytes < bytes ? 1 : static_cast<int>(3.0 * l2_bytes / bytes) + 1;
  return std::min(512, intensity <= kLightLoad || p.m <= 128 ? std::max(16, exceed) : exceed);
}

Result measure(const Problem& p, cudaStream_t stream, cublasHandle_t cublas, std::mt19937& random) {
  Result result{p, hgemm_tuned::select(p)};
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n),
             k = static_cast<double>(p.k);
  const double bytes = 2 * (m * k + n * k) + static_cast<double>(output_bytes(p));
  const double intensity = 2 * m * n * k / bytes;
  const int sets = rotation_sets(p, bytes, intensity);
  std::vector<Operands> operands;
  for (int i = 0; i < sets; ++i) operands.emplace_back(p, static_cast<unsigned>(i), stream);
  std::size_t workspace_bytes = 0;
  check(hgemm_tuned::workspace_bytes(p, &workspace_bytes), "workspace_bytes");
  const Memory workspace(workspace_bytes + 1);
  check(hgemm_tuned::init_workspace(stream, workspace.get(), workspace_bytes), "init_workspace");

  const auto ours = [&](int i) {
    const Operands& o = operands[static_cast<std::size_t>(i % sets)];
    check(hgemm_tuned::gemm(stream, p, {o.a.get(), o.b.get(), o.d.get()}, workspace.get(),
                            workspace_bytes),
          "gemm");
  };
  const float one = 1, zero = 0;
  const cudaDataType_t type = p.dtype == Dtype::kFp16 ? CUDA_R_16F : CUDA_R_16BF;
  const cudaDataType_t output = p.output == Output::kFp32 ? CUDA_R_32F : type;
  const auto theirs = [&](int i) {
    const Operands& o = operands[static_cast<std::size_t>(i % sets)];
    check(
        cublasGemmEx(cublas, CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(p.n), static_cast<int>(p.m),
                     static_cast<int>(p.k), &one, o.b.get(), type, static_cast<int>(p.k), o.a.get(),
                     type, static_cast<int>(p.k), &zero, o.d.get(), output, static_cast<int>(p.n),
                     CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
  };
  poison(operands.front(), p, stream);
  ours(0);
  check(cudaStreamSynchronize(stream), "running");
  result.error = error_of(operands.front(), operands.front().d.get(), p, stream);

  Candidate our_candidate(stream, sets, ours);
  Candidate their_candidate(stream, sets, theirs);
  Candidate* both[2] = {&our_candidate, &their_candidate};
  time_in_turns(stream, intensity > kLightLoad, both, random);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < our_candidate.us.size(); ++i) {
    ratios.push_back(their_candidate.us[i] / our_candidate.us[i]);
  }
  result.us = median(our_candidate.us);
  result.their_us = median(their_candidate.us);
  result.mhz = median(our_candidate.mhz);
  result.their_mhz = median(their_candidate.mhz);
  result.ratio = median(ratios);
  std::tie(result.low, result.high) = interval(ratios);
  return result;
}

/// Prints a line for each shape and returns the number of wrong results. Another card, or another
/// clock, changes all times; the column before the clocks shows by how much.
int print(const std::vector<Result>& results) {
  std::printf(
      "\n| shape | config | gain proven | us | tuned us | x cuBLAS | tuned x cuBLAS | error / "
      "tolerance | tuned us / us | the same of cuBLAS | SM MHz | cuBLAS SM MHz |\n"
      "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  int wrong = 0;
  double ratios = 0, tuned_ratios = 0, speeds = 0, their_speeds = 0;
  for (const Result& r : results) {
    const double tolerance = tolerance_of(r.problem);
    const bool right = r.error <= tolerance;  // false for NaN
    wrong += right ? 0 : 1;
    std::printf(
        "| %s | `%s` | %s | %.2f | %.2f | %.3f [%.3f, %.3f] | %.3f [%.3f, %.3f] | "
        "%.2f%s | %.3f | %.3f | %.0f | %.0f |\n",
        text_of(r.problem).c_str(), r.selection.label, r.selection.gain ? "yes" : "no", r.us,
        r.selection.tuned_us, r.ratio, r.low, r.high, r.selection.ratio_cublas,
        r.selection.ratio_cublas_low, r.selection.ratio_cublas_high, r.error / tolerance,
        right ? "" : " WRONG", r.selection.tuned_us / r.us,
        r.selection.tuned_us * r.selection.ratio_cublas / r.their_us, r.mhz, r.their_mhz);
    ratios += std::log(r.ratio);
    tuned_ratios += std::log(r.selection.ratio_cublas);
    speeds += std::log(r.selection.tuned_us / r.us);
    their_speeds += std::log(r.selection.tuned_us * r.selection.ratio_cublas / r.their_us);
  }
  const auto count = static_cast<double>(results.size());
  std::printf("| geomean of %zu | | | | | %.3f | %.3f | | %.3f | %.3f | | |\n", results.size(),
              std::exp(ratios / count), std::exp(tuned_ratios / count), std::exp(speeds / count),
              std::exp(their_speeds / count));
  return wrong;
}

struct Arguments {
  std::vector<Problem> shapes;
  double rest_ms = 0;
  bool checks_first = false;
};

/// Exits with code 2 if the arguments are invalid.
Arguments parse(int argc, char** argv) {
  Arguments arguments;
  const auto refuse = [](const char* what) {
    std::fprintf(
        stderr,
        "%s; usage: example [--shape MxNxK[.fp16][.dfp32]]... [--rest MS] [--checks-first]\n",
        what);
    std::exit(2);
  };
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--checks-first") {
      arguments.checks_first = true;
      continue;
    }
    const char* const value = i + 1 < argc ? argv[++i] : "";
    if (option == "--rest") {
      char* end = nullptr;
      arguments.rest_ms = std::strtod(value, &end);
      if (end == value || *end != '\0' || !(arguments.rest_ms >= 0)) refuse("--rest takes a time");
    } else if (option == "--shape") {
      const auto before = arguments.shapes.size();
      for (int j = 0; j < hgemm_tuned_shape_count(); ++j) {
        const Problem p = tuned_problem(j);
        if (is_plain(p) && text_of(p) == value) arguments.shapes.push_back(p);
      }
      if (arguments.shapes.size() == before) {
        refuse("--shape takes one that was tuned, MxNxK[.fp16][.dfp32]");
      }
    } else {
      refuse(option.c_str());
    }
  }
  if (!arguments.shapes.empty()) return arguments;
  for (int i = 0; i < hgemm_tuned_shape_count(); ++i) {
    if (is_plain(tuned_problem(i))) arguments.shapes.push_back(tuned_problem(i));
  }
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  check(hgemm_tuned::prepare(), "prepare");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "asking for the GPU");
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver), "asking for the driver");
  check(cudaRuntimeGetVersion(&runtime), "asking for the runtime");
  std::printf("%s, %d SMs, CUDA %d.%d, driver's CUDA %d.%d\n\n", properties.name,
              properties.multiProcessorCount, runtime / 1000, runtime % 1000 / 10, driver / 1000,
              driver % 1000 / 10);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
  cublasHandle_t cublas = nullptr;
  check(cublasCreate(&cublas), "starting cuBLAS");
  const std::size_t cublas_bytes = std::size_t{64} << 20;
  const Memory cublas_workspace(cublas_bytes);
  check(cublasSetStream(cublas, stream), "giving cuBLAS a stream");
  check(cublasSetWorkspace(cublas, cublas_workspace.get(), cublas_bytes), "giving it a workspace");

  int wrong = arguments.checks_first ? check_package(stream) : 0;
  std::fflush(stdout);
  std::mt19937 random(1);
  std::vector<Result> results;
  for (const Problem& shape : arguments.shapes) {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(arguments.rest_ms));
    results.push_back(measure(shape, stream, cublas, random));
  }
  wrong += print(results);
  if (!arguments.checks_first) wrong += check_package(stream);
  check(cublasDestroy(cublas), "stopping cuBLAS");
  return wrong == 0 ? 0 : 1;
}
