#include "studies/chain/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/error.h"
#include "device/blas.h"
#include "device/data_kernels.h"
#include "device/epilogue_kernels.h"
#include "device/loaded_kernel.h"
#include "device/problem_data.h"
#include "device/protocol.h"
#include "device/sampler.h"
#include "families/family.h"
#include "studies/chain/chain.h"

namespace hgemm {
namespace {

constexpr std::int64_t kGuardRows = 64;
/// Left free for cuBLAS's workspace, loaded kernels and graphs.
constexpr double kReservedBytes = 1.5e9;
/// Number of runs that must agree, so that a race condition that occurs rarely is found.
constexpr int kAgreeingRuns = 10;
/// Expected time of all references and of copying the outputs many times; only used to detect
/// hangs.
constexpr double kVerifyMs = 1000;
/// Rounds of one sample each; at the own pace rounds come in windows of
/// protocol::kFull.own_samples.
constexpr int kSharedRounds = 40;
constexpr int kOwnRounds = 9;

/// Including its guard rows.
std::size_t output_bytes(const GemmProblem& problem) {
  return matrix_bytes(problem.m + 2 * kGuardRows, problem.d_columns(), problem.d_type);
}

/// What links need in turns.
struct SharedBytes {
  std::size_t reference = 0, sums = 0, product = 0;
};
SharedBytes shared_bytes(std::span<const GemmProblem> links) {
  SharedBytes bytes;
  const auto grow = [](std::size_t& most, const GemmProblem& problem, std::int64_t columns,
                       DataType type) {
    most = std::max(most, matrix_bytes(problem.m, columns, type));
  };
  for (const GemmProblem& problem : links) {
    grow(bytes.reference, problem, problem.d_columns(), DataType::kFp32);
    if (!problem.is_gated()) continue;
    grow(bytes.sums, problem, problem.n, DataType::kFp32);
    grow(bytes.product, problem, problem.n, problem.product().d_type);
  }
  return bytes;
}

class KernelChain : public ChainCandidate {
 public:
  KernelChain(std::span<const std::string> labels, const Cubins& cubins, const ChainData& data)
      : ChainCandidate(data) {
    for (int i = 0; i < data.links(); ++i) {
      const std::string& label = labels[static_cast<std::size_t>(i)];
      const GemmProblem& problem = data.problem(i);
      const Kernel made = kernel_for(parse_label(label), problem);
      auto& kernel = kernels_[build_name(made)];
      if (!kernel) kernel = std::make_unique<LoadedKernel>(made, cubins.at(build_name(made)));
      Link link{.kernel = kernel.get(), .ctas = kernel->grid_ctas(problem)};
      link.workspace = kernel->make_workspace(problem, link.ctas);
      link.params = make_params(made, problem, data.operands(i), link.workspace);
      links_.push_back(std::move(link));
    }
  }
  void launch_link(int i, cudaStream_t stream) const override {
    const Link& link = links_.at(static_cast<std::size_t>(i));
    link.kernel->launch(link.params, link.ctas, stream);
  }

 private:
  struct Link {
    const LoadedKernel* kernel = nullptr;
    int ctas = 0;
    /// Not shared: the next link may already run while this one uses it.
    Workspace workspace = {};
    LaunchParams params = {};
  };
  std::map<std::string, std::unique_ptr<LoadedKernel>> kernels_;  ///< by build_name()
  std::vector<Link> links_;
};

class CublasChain : public ChainCandidate {
 public:
  explicit CublasChain(const ChainData& data) : ChainCandidate(data) {
    for (int i = 0; i < data.links(); ++i) {
      const GemmProblem& problem = data.problem(i);
      auto& plan = plans_[to_string(problem)];
      if (plan || !problem.exceeds_product()) continue;
      plan = std::make_unique<CublasLtPlan>(problem);
      if (plan->algorithms() == 0) {
        throw Error(fmt::format("cuBLASLt has no algorithm for {}", to_string(problem)));
      }
    }
  }
  int roundings() const override { return kLibraryRoundings; }
  void launch_link(int i, cudaStream_t stream) const override {
    const GemmProblem& problem = data_.problem(i);
    const auto& plan = plans_.at(to_string(problem));
    if (!plan) {
      blas_.gemm(problem, data_.operands(i), stream);
    } else {
      launch_whole(*plan, 0, data_.operands(i), data_.product_operands(i), stream);
    }
  }

 private:
  Cublas blas_;
  std::map<std::string, std::unique_ptr<CublasLtPlan>> plans_;  ///< none for a plain product
};

/// "link 7 of 20, 1x4096x4096 by bm8...", for messages.
std::string link_text(int link, const ChainData& data, const std::string& label) {
  return fmt::format("link {} of {}, {} by {}", link + 1, data.links(),
                     to_string(data.problem(link)), label);
}

/// Measures a chain: verifies its variants, then samples them in turns.
class Measurement {
 public:
  Measurement(const StudyRequest& request, const Bench& bench)
      : request_(request),
        bench_(bench),
        links_(links_of(request.parts)),
        problems_(problems_of(links_, request.label)),
        data_(problems_, request.seed, bench.device, bench.stream),
        sampler_(bench_.stream, {.sets = 1, .light = is_light()}, bench.device, bench.nvml,
                 bench.on_step) {}

  void fill(Study& study, const Cubins& cubins) {
    for (const std::string variant : {kPdlOff, kPdlOn}) {
      std::vector<std::string> labels;
      for (const ChainLink& link : links_) {
        labels.push_back(variant == kPdlOff ? link.pdl_off : link.pdl_on);
      }
      announce("loading", variant, 0);
      auto chain = make_kernel_chain(labels, cubins, data_);
      const ChainVerdict found = verify(variant, *chain, true);
      const bool is_worst =
          study.verdict.tolerance == 0 || found.verdict.error > study.verdict.error;
      if (!found.verdict.correct || is_worst) study.verdict = found.verdict;
      if (!found.verdict.correct) {
        const std::string& label = labels[static_cast<std::size_t>(found.link)];
        study.status = Status::kWrongResult;
        study.message = fmt::format("{}: {}: {}", variant, link_text(found.link, data_, label),
                                    found.verdict.message);
        return;
      }
      add(variant, std::move(chain));
    }
    const std::string cublas(kCublasLabel);
    auto chain = make_cublas_chain(data_);
    const ChainVerdict found = verify(cublas, *chain, false);
    if (!found.verdict.correct) {
      throw Error(
          fmt::format("{}: {}", link_text(found.link, data_, cublas), found.verdict.message));
    }
    add(cublas, std::move(chain));
    sample(study);
  }

 private:
  static std::vector<GemmProblem> problems_of(std::span<const ChainLink> links,
                                              const std::string& label) {
    if (links.empty()) throw std::invalid_argument(label + " has no links");
    std::vector<GemmProblem> problems;
    for (const ChainLink& link : links) problems.push_back(link.problem);
    return problems;
  }

  bool is_light() const {
    double flops = 0;
    double bytes = 0;
    for (const GemmProblem& problem : problems_) {
      flops += problem.flops();
      bytes += problem.bytes();
    }
    return flops / bytes <= protocol::kLightLoad;
  }

  ChainVerdict verify(const std::string& variant, const ChainCandidate& chain,
                      bool deterministic) const {
    announce("verifying the chain", variant, kVerifyMs);
    return verify_chain(chain, data_, deterministic, bench_.stream);
  }

  void add(const std::string& variant, std::unique_ptr<Candidate> chain) {
    announce("a first timing", variant, 0);
    const double estimate_us = sampler_.estimate_us(*chain);
    sampler_.add(variant, std::move(chain), estimate_us);
  }

  /// Samples in the sustained regime (device/protocol.h).
  void sample(Study& study) {
    const bool capped = sampler_.settle(Pace::kShared).power_capped;
    const Pace pace = capped && !is_light() ? Pace::kOwn : Pace::kShared;
    const int rounds = pace == Pace::kOwn ? kOwnRounds : kSharedRounds;
    std::vector<std::string> order{std::string(kCublasLabel), kPdlOff, kPdlOn};
    std::mt19937_64 random(request_.seed);
    for (int round = 0; round < rounds;) {
      std::ranges::shuffle(order, random);
      for (const std::vector<Sample>& of_round : sampler_.rounds(order, pace)) {
        for (std::size_t i = 0; i < order.size(); ++i) {
          std::vector<Sample>& samples = study.samples(order[i]);
          samples.push_back(of_round.at(i));
          samples.back().round = round;
        }
        ++round;
      }
    }
  }

  void announce(const char* doing, const std::string& variant, double expected_ms) const {
    if (bench_.on_step) bench_.on_step({doing, variant, true, expected_ms});
  }

  const StudyRequest& request_;
  const Bench& bench_;
  std::vector<ChainLink> links_;
  std::vector<GemmProblem> problems_;
  ChainData data_;
  Sampler sampler_;
};

}  // namespace

// ---- Data ----

ChainData::ChainData(std::span<const GemmProblem> links, std::uint64_t seed, const Gpu& device,
                     const Stream& stream)
    : problems_(links.begin(), links.end()), comparison_(sizeof(OutputComparison)) {
  const SharedBytes shared = shared_bytes(links);
  double needed =
      static_cast<double>(shared.reference + shared.sums + shared.product) + kReservedBytes;
  for (const GemmProblem& problem : links) {
    needed += problem.bytes() + static_cast<double>(output_bytes(problem));
  }
  const auto free_bytes = static_cast<double>(free_device_bytes());
  if (needed > free_bytes) {
    throw InputError(fmt::format(
        "a chain of {} GEMMs needs {:.1f} GB of device memory, and {} has {:.1f} GB free; make it "
        "shorter with --length",
        links.size(), needed * 1e-9, device.name, free_bytes * 1e-9));
  }

  reference_ = DeviceMemory(shared.reference);
  sums_ = DeviceMemory(shared.sums);
  product_ = DeviceMemory(shared.product);
  const std::vector<bool> fed = fed_links(links);
  double a_rms = 1;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const GemmProblem& problem = links[i];
    const std::int64_t c_elements = problem.c_type ? problem.m * problem.n : 0;
    Link link{{},
              DeviceMemory(matrix_bytes(problem.n, problem.k, problem.b_type)),
              DeviceMemory(output_bytes(problem)),
              DeviceMemory(matrix_bytes(1, c_elements, problem.added_type())),
              DeviceMemory(matrix_bytes(1, problem.bias_length(), problem.added_type()))};
    const auto stream_id = static_cast<std::uint32_t>(4 * i);
    if (!fed[i]) {
      a_rms = 1;
      link.a = DeviceMemory(matrix_bytes(problem.m, problem.k, problem.a_type));
      fill_normal(link.a.data(), problem.m * problem.k, problem.a_type, 1.0f, seed, stream_id,
                  stream.get());
    }
    const auto sigma_b =
        static_cast<float>(1.0 / (a_rms * std::sqrt(static_cast<double>(problem.k))));
    fill_normal(link.b.data(), problem.n * problem.k, problem.b_type, sigma_b, seed, stream_id + 1,
                stream.get());
    fill_normal(link.c.data(), c_elements, problem.added_type(), 1.0f, seed, stream_id + 2,
                stream.get());
    fill_normal(link.bias.data(), problem.bias_length(), problem.added_type(), 1.0f, seed,
                stream_id + 3, stream.get());
    links_.push_back(std::move(link));
    if (i + 1 < links.size() && fed[i + 1]) {
      a_rms = compute_output(static_cast<int>(i), links[i + 1].m * links[i + 1].k, stream);
    }
  }
  stream.synchronize();
}

double ChainData::compute_output(int link, std::int64_t elements, const Stream& stream) {
  constexpr std::int64_t kEnough = 1 << 20;
  const GemmProblem& problem = this->problem(link);
  compute_reference(link, stream);
  const StoredMatrices d{{problem.m, problem.d_columns(), problem.leading_d()}, 1, 0};
  repeat_values(operands(link).d, d, problem.d_type, reference_.as<float>(), d.rows * d.cols, 1.0F,
                stream.get());
  std::vector<float> values(static_cast<std::size_t>(std::min(elements, kEnough)));
  check(cudaMemcpyAsync(values.data(), reference_.data(), values.size() * sizeof values[0],
                        cudaMemcpyDeviceToHost, stream.get()),
        "reading the outputs of a link");
  stream.synchronize();
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

Operands ChainData::operands(int i) const {
  const auto at = static_cast<std::size_t>(i);
  const Link& link = links_.at(at);
  const auto d_of = [this](std::size_t of) -> void* {
    return links_[of].d.as<std::byte>() +
           matrix_bytes(kGuardRows, problems_[of].d_columns(), problems_[of].d_type);
  };
  const bool is_scaled = problems_[at].epilogue.scaled;
  return {.a = link.a.data() != nullptr ? link.a.data() : d_of(at - 1),
          .b = link.b.data(),
          .d = d_of(at),
          .c = link.c.data(),
          .bias = link.bias.data(),
          .alpha = is_scaled ? kAlpha : 1,
          .beta = is_scaled ? kBeta : 1};
}

Operands ChainData::product_operands(int i) const {
  Operands product = operands(i);
  if (problem(i).is_gated()) product.d = product_.data();
  return product;
}

void ChainData::poison(const Stream& stream) const {
  for (const Link& link : links_) {
    check(cudaMemsetAsync(link.d.data(), kPoisonByte, link.d.bytes(), stream.get()),
          "poisoning an output");
  }
}

void ChainData::compute_reference(int link, const Stream& stream) const {
  const GemmProblem& problem = this->problem(link);
  const Operands operands = this->operands(link);
  float* const sums = problem.is_gated() ? sums_.as<float>() : reference_.as<float>();
  multiply_reference(sums, problem, operands, stream.get());
  finish_reference(reference_.as<float>(), nullptr, sums, problem, operands, stream.get());
}

Verdict ChainData::verify(int link, int roundings, const Stream& stream) const {
  compute_reference(link, stream);
  return judge_output(operands(link).d, reference_, problem(link), kGuardRows, roundings,
                      comparison_, stream);
}

std::vector<std::vector<std::byte>> ChainData::outputs(const Stream& stream) const {
  std::vector<std::vector<std::byte>> all;
  for (int i = 0; i < links(); ++i) {
    const GemmProblem& of = problem(i);
    std::vector<std::byte>& output =
        all.emplace_back(matrix_bytes(of.m, of.d_columns(), of.d_type));
    check(cudaMemcpyAsync(output.data(), operands(i).d, output.size(), cudaMemcpyDeviceToHost,
                          stream.get()),
          "reading an output");
  }
  stream.synchronize();
  return all;
}

// ---- What computes it ----

void ChainCandidate::launch(int /*set*/, cudaStream_t stream) const {
  for (int link = 0; link < data_.links(); ++link) launch_link(link, stream);
}

std::unique_ptr<ChainCandidate> make_kernel_chain(std::span<const std::string> labels,
                                                  const Cubins& cubins, const ChainData& data) {
  return std::make_unique<KernelChain>(labels, cubins, data);
}

std::unique_ptr<ChainCandidate> make_cublas_chain(const ChainData& data) {
  return std::make_unique<CublasChain>(data);
}

// ---- Verification ----

ChainVerdict verify_chain(const ChainCandidate& chain, const ChainData& data, bool deterministic,
                          const Stream& stream) {
  std::vector<std::vector<std::byte>> expected;
  if (deterministic) {
    data.poison(stream);
    for (int link = 0; link < data.links(); ++link) {
      chain.launch_link(link, stream.get());
      stream.synchronize();
    }
    expected = data.outputs(stream);
  }
  const Graph graph = Graph::capture(stream, [&] { chain.launch(0, stream.get()); });
  const auto run = [&] {
    data.poison(stream);
    graph.launch(stream);
  };

  run();
  ChainVerdict worst;
  for (int link = 0; link < data.links(); ++link) {
    const Verdict verdict = data.verify(link, chain.roundings(), stream);
    if (!verdict.correct) return {link, verdict};
    if (link == 0 || verdict.error > worst.verdict.error) worst = {link, verdict};
  }
  for (int i = 0; deterministic && i < kAgreeingRuns; ++i) {
    if (i > 0) run();
    const auto outputs = data.outputs(stream);
    const auto [differs, other] = std::ranges::mismatch(outputs, expected);
    if (differs == outputs.end()) continue;
    worst.link = static_cast<int>(differs - outputs.begin());
    worst.verdict.correct = false;
    worst.verdict.message = fmt::format(
        "run {} as a graph did not give the bits that the links give one by one", i + 1);
    return worst;
  }
  return worst;
}

// ---- The study ----

Study run_chain(const StudyRequest& request, const Cubins& cubins, const Bench& bench) {
  Study study;
  study.kind = request.kind;
  study.label = request.label;
  study.parts = request.parts;
  Measurement(request, bench).fill(study, cubins);
  return study;
}

}  // namespace hgemm
