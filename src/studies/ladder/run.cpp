#include "studies/ladder/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>

#include "base/error.h"
#include "device/cuda.h"
#include "device/library.h"
#include "device/session.h"
#include "device/tensor_map.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "studies/probe/cycles.h"

namespace hgemm {
namespace {

using ladder::Phase;

constexpr int kRounds = 15;
/// Rounds for slow steps: a launch of the naive kernel takes a second, and its ratio to cublas does
/// not need an interval of tenths of a percent.
constexpr int kFewRounds = 3;
constexpr double kSlowUs = 200e3;
/// More than cuBLASLt's heuristic ever returned.
constexpr int kLtAlgorithms = 64;

struct PhaseName {
  Phase phase;
  const char* name;
  const char* unit;
  bool producer;  ///< for a specialised step
};
constexpr PhaseName kPhaseNames[] = {
    {Phase::kLoad, "load", "k_block", false},  {Phase::kWaitEmpty, "wait_empty", "k_block", true},
    {Phase::kIssue, "issue", "k_block", true}, {Phase::kWaitFull, "wait_full", "k_block", false},
    {Phase::kMma, "mma", "k_block", false},    {Phase::kStore, "store", "tile", false},
    {Phase::kKernel, "kernel", "cta", false},
};
static_assert(std::size(kPhaseNames) == ladder::kProbeSlots);

LadderPoint point_of(const std::string& label) {
  const auto point = parse_ladder_label(label);
  if (!point) throw InputError(fmt::format("{} is not a step of the ladder", label));
  return *point;
}

const GemmProblem& problem_of(const StudyRequest& request) {
  if (!request.problem) throw InputError(fmt::format("{} needs a problem", request.label));
  return *request.problem;
}

const char* why_unsupported(const LadderPoint& point, const GemmProblem& problem) {
  const GemmKind kind = problem.kind();
  if (kind.input != point.dtype || kind.output != point.dtype) {
    return "the step's type is not the problem's";
  }
  if (problem.layout != Layout::kTN) return "the ladder's matrices have layout TN";
  if (has_epilogue(kind)) return "the ladder's kernels have no epilogue";
  if (problem.batch > 1) return "the ladder's kernels compute a single product";
  if (!problem.is_packed()) return "the ladder's matrices have no padding";
  return ladder::why_unsupported(point.step, problem.m, problem.n, problem.k);
}

/// The same by label: a step's own, or that of a tuned step's config.
const char* why_unsupported(const std::string& label, const GemmProblem& problem) {
  const auto point = parse_ladder_label(label);
  return point ? why_unsupported(*point, problem) : why_not(parse_label(label), problem);
}

std::unique_ptr<Candidate> make_candidate(const std::string& label, const Cubin& cubin,
                                          const ProblemData& data) {
  if (parse_ladder_label(label)) return make_ladder_candidate(label, cubin, data);
  return make_kernel_candidate(kernel_for(parse_label(label), data.problem()), cubin, data);
}

Study blank_study(const StudyRequest& request) {
  Study study;
  study.kind = request.kind;
  study.label = request.label;
  study.problem = request.problem;
  return study;
}

TensorElement tensor_element(DataType dtype) {
  switch (dtype) {
    case DataType::kBf16:
      return TensorElement::kBf16;
    case DataType::kFp16:
      return TensorElement::kF16;
    case DataType::kFp32:
      return TensorElement::kF32;
    case DataType::kE4m3:
    case DataType::kE5m2:
      break;  // no step has them
  }
  throw Error("a type outside its enumeration");
}

/// A map without L2 promotion, as in the article.
TensorMap tensor_map(const char* name, const void* data, std::int64_t rows, std::int64_t cols,
                     DataType dtype, const ladder::Box& box) {
  if (box.rows == 0) return {};
  return make_tensor_map({.name = name,
                          .data = const_cast<void*>(data),
                          .element = tensor_element(dtype),
                          .extents = {cols, rows},
                          .strides_bytes = {cols * element_bytes(dtype)},
                          .box = {box.cols, box.rows},
                          .swizzle = TensorSwizzle::k128B,
                          .promotion = TensorPromotion::kNone});
}

class LadderCandidate : public Candidate {
 public:
  LadderCandidate(const ladder::Step& step, const Cubin& cubin, const ProblemData& data)
      : kernel_(step, cubin, data.problem()) {
    for (int set = 0; set < data.launchable_sets(); ++set) {
      params_.push_back(kernel_.params(data.operands(set)));
    }
  }
  void launch(int set, cudaStream_t stream) const override {
    kernel_.launch(params_.at(static_cast<std::size_t>(set)), stream);
  }

 private:
  LadderKernel kernel_;
  std::vector<LadderParams> params_;
};

/// Sums over the CTAs; phases that never happened are left out.
std::vector<CycleFigure> figures_of(const ladder::Step& step,
                                    std::span<const unsigned long long> stamps) {
  std::vector<CycleFigure> figures;
  for (const PhaseName& name : kPhaseNames) {
    CycleFigure figure{.role = !step.specialised ? "cta"
                               : name.producer   ? "producer"
                                                 : "consumer",
                       .phase = name.name,
                       .unit = name.unit};
    for (std::size_t at = 2 * static_cast<std::size_t>(name.phase); at < stamps.size();
         at += 2 * ladder::kProbeSlots) {
      figure.cycles += static_cast<double>(stamps[at]);
      figure.count += static_cast<std::int64_t>(stamps[at + 1]);
    }
    if (figure.count > 0) figures.push_back(figure);
  }
  return figures;
}

}  // namespace

// ---- The kernel ----

LadderKernel::LadderKernel(const ladder::Step& step, const Cubin& cubin, const GemmProblem& problem)
    : step_(step), problem_(problem) {
  if (const char* reason = ladder::why_unsupported(step, problem.m, problem.n, problem.k)) {
    throw Error(fmt::format("{}: {}", to_string(problem), reason));
  }
  library_ = load_library(cubin);
  try {
    check(cudaLibraryGetKernel(&kernel_, library_, "ladder_kernel"), "looking for ladder_kernel");
    if (step_.smem_bytes > 0) {
      check(cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 step_.smem_bytes),
            "reserving shared memory");
    }
    ctas_ = count_ctas();
  } catch (...) {
    cudaLibraryUnload(library_);
    throw;
  }
}

LadderKernel::~LadderKernel() { cudaLibraryUnload(library_); }

int LadderKernel::count_ctas() const {
  constexpr std::int64_t kMaxTiles = 1 << 30;  // positions in the tile order are 32-bit
  const std::int64_t tiles = problem_.m / step_.tile_m * (problem_.n / step_.tile_n);
  if (tiles > kMaxTiles) {
    throw Error(fmt::format("{} has more than {} tiles of {} x {}", to_string(problem_), kMaxTiles,
                            step_.tile_m, step_.tile_n));
  }
  const int all = static_cast<int>(tiles);
  if (!step_.persistent) return all;

  cudaLaunchAttribute attribute{};
  const cudaLaunchConfig_t config = launch_config(step_.cluster, nullptr, &attribute);
  int resident = 0;
  check(cudaOccupancyMaxActiveClusters(&resident, kernel_, &config),
        "asking how many clusters are resident");
  if (resident < 1) throw Error("the GPU cannot hold one cluster of this kernel");
  // Uses only as many CTAs as the number of rounds needs: 16 rounds of 128 CTAs take as long as 16
  // of 132, and stay aligned with orders of 128 tiles at a time.
  const int clusters = all / step_.cluster;
  const int rounds = (clusters + resident - 1) / resident;
  if (step_.tiles_per_cta > 0 && rounds > step_.tiles_per_cta) {
    throw Error(fmt::format("{} has {} tiles for each CTA; this step has room for {}",
                            to_string(problem_), rounds, step_.tiles_per_cta));
  }
  return (clusters + rounds - 1) / rounds * step_.cluster;
}

LadderParams LadderKernel::params(const Operands& operands, unsigned long long* stamps) const {
  LadderParams params{};
  params.a_map = tensor_map("A", operands.a, problem_.m, problem_.k, problem_.a_type, step_.a_box);
  params.b_map = tensor_map("B", operands.b, problem_.n, problem_.k, problem_.b_type, step_.b_box);
  params.d_map = tensor_map("D", operands.d, problem_.m, problem_.n, problem_.d_type, step_.d_box);
  params.a = operands.a;
  params.b = operands.b;
  params.d = operands.d;
  params.stamps = stamps;
  params.m = static_cast<int>(problem_.m);
  params.n = static_cast<int>(problem_.n);
  params.k = static_cast<int>(problem_.k);
  return params;
}

cudaLaunchConfig_t LadderKernel::launch_config(int ctas, cudaStream_t stream,
                                               cudaLaunchAttribute* cluster) const {
  cluster->id = cudaLaunchAttributeClusterDimension;
  cluster->val.clusterDim = {static_cast<unsigned>(step_.cluster), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(ctas));
  config.blockDim = dim3(static_cast<unsigned>(step_.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(step_.smem_bytes);
  config.stream = stream;
  config.attrs = cluster;
  config.numAttrs = 1;
  return config;
}

void LadderKernel::launch(const LadderParams& params, cudaStream_t stream) const {
  cudaLaunchAttribute cluster{};
  cudaLaunchConfig_t config = launch_config(ctas_, stream, &cluster);
  if (step_.cluster == 1) config.numAttrs = 0;
  void* arguments[] = {const_cast<LadderParams*>(&params)};
  check(cudaLaunchKernelExC(&config, kernel_, arguments), "launching ladder_kernel");
}

// ---- Studies ----

std::unique_ptr<Candidate> make_ladder_candidate(const std::string& label, const Cubin& cubin,
                                                 const ProblemData& data) {
  return std::make_unique<LadderCandidate>(point_of(label).step, cubin, data);
}

Study run_ladder(const StudyRequest& request, const Cubin& cubin, const Bench& bench) {
  const GemmProblem& problem = problem_of(request);
  Study study = blank_study(request);
  if (const char* reason = why_unsupported(request.label, problem)) {
    study.status = Status::kInvalidConfig;
    study.message = reason;
    return study;
  }
  std::set<std::string> without;
  for (int i = 0; i < kLtAlgorithms; ++i) without.insert(fmt::format("{}{}", kCublasLtPrefix, i));
  Session session(bench.stream, problem, {.seed = request.seed, .without = without}, bench.device,
                  bench.nvml, bench.on_step);
  if (session.opened().prepared.empty()) {
    throw Error(fmt::format("cuBLASLt has no algorithm for {}", to_string(problem)));
  }
  const Prepared& cublas = session.opened().prepared.front();
  if (cublas.status != Status::kOk) {
    throw Error(fmt::format("{} failed: {}", kCublasLabel, cublas.message));
  }
  const Prepared prepared =
      session.prepare(request.label, make_candidate(request.label, cubin, session.data()));
  study.status = prepared.status;
  study.message = prepared.message;
  study.verdict = prepared.verdict;
  if (prepared.status != Status::kOk) return study;

  session.settle(Pace::kRested);
  const int rounds = prepared.estimate_us > kSlowUs ? kFewRounds : kRounds;
  std::vector<std::string> order{request.label, std::string(kCublasLabel)};
  for (int round = 0; round < rounds; ++round) {
    const std::vector<Sample> samples = session.rounds(order, Pace::kRested).front();
    for (std::size_t i = 0; i < order.size(); ++i) {
      std::vector<Sample>& kept =
          study.samples(order[i] == request.label ? kStepSeries : kCublasLabel);
      kept.push_back(samples.at(i));
      kept.back().round = round;
    }
    std::swap(order[0], order[1]);  // so that neither is always the second
  }
  return study;
}

Study run_ladder_probe(const StudyRequest& request, const Cubin& cubin, const Bench& bench) {
  const LadderPoint point = point_of(request.label);
  const GemmProblem& problem = problem_of(request);
  Study study = blank_study(request);
  const char* reason = why_unsupported(point, problem);
  if (reason == nullptr && !point.step.probed) reason = "the step has no cycle stamps";
  if (reason != nullptr) {
    study.status = Status::kInvalidConfig;
    study.message = reason;
    return study;
  }
  const auto announce = [&](const char* doing) {
    if (bench.on_step) bench.on_step({doing, request.label, true, 0});
  };
  const Stream& stream = bench.stream;
  announce("making inputs");
  const ProblemData data(problem, request.seed, bench.device, stream);
  announce("the first launch");
  const LadderKernel kernel(point.step, cubin, problem);
  const std::size_t slots = static_cast<std::size_t>(kernel.ctas()) * 2 * ladder::kProbeSlots;
  const DeviceMemory stamps(slots * sizeof(unsigned long long));
  data.poison(stream);
  // The second launch counts: the first one has a cold instruction cache and idle clocks. It is the
  // one that is verified if the data is not normal.
  for (const int set : {data.check_set(), 0}) {
    check(cudaMemsetAsync(stamps.data(), 0, stamps.bytes(), stream.get()), "clearing stamps");
    kernel.launch(kernel.params(data.operands(set), stamps.as<unsigned long long>()), stream.get());
  }
  study.verdict = data.verify(stream);
  if (!study.verdict.correct) {
    study.status = Status::kWrongResult;
    study.message = study.verdict.message;
    return study;
  }
  std::vector<unsigned long long> values(slots);
  check(cudaMemcpy(values.data(), stamps.data(), stamps.bytes(), cudaMemcpyDeviceToHost),
        "reading stamps");
  study.figures = recorded_cycles(figures_of(point.step, values));
  return study;
}

}  // namespace hgemm
