#include "studies/quantise/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "base/error.h"
#include "device/candidate.h"
#include "device/data_kernels.h"
#include "device/protocol.h"
#include "device/sampler.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "studies/quantise/series.h"

namespace hgemm {
namespace {

/// Rounds of one sample each; at the own pace rounds come in windows of
/// protocol::kFull.own_samples.
constexpr int kSharedRounds = 40;
constexpr int kOwnRounds = 9;
/// The sequences of random numbers below this are those of ProblemData.
constexpr std::uint32_t kFirstStreamId = 1u << 20;

/// A GEMM, after quantising its A or alone; or quantising alone.
class Step : public Candidate {
 public:
  /// One of them may be null.
  Step(const QuantisedData* quantiser, std::shared_ptr<const Candidate> gemm)
      : quantiser_(quantiser), gemm_(std::move(gemm)) {}
  void launch(int set, cudaStream_t stream) const override {
    if (quantiser_) quantiser_->quantise(set, stream);
    if (gemm_) gemm_->launch(set, stream);
  }
  int roundings() const override { return gemm_ ? gemm_->roundings() : 1; }
  std::int64_t rows_behind() const override { return gemm_ ? gemm_->rows_behind() : 0; }

 private:
  const QuantisedData* quantiser_;
  std::shared_ptr<const Candidate> gemm_;
};

class Measurement {
 public:
  Measurement(const StudyRequest& request, const Cubin& cubin, const Bench& bench)
      : request_(request),
        bench_(bench),
        problem_(request.problem.value()),
        data_(problem_, request.seed, bench.device, bench.stream),
        sampler_(bench.stream, {.sets = data_.gemm().sets(), .light = is_light()}, bench.device,
                 bench.nvml, bench.on_step) {
    announce("loading", request.label);
    ours_ = make_kernel_candidate(kernel_for(parse_label(request.label), problem_), cubin,
                                  data_.gemm());
    std::vector<Baseline> baselines = make_baselines(data_.gemm());
    if (baselines.empty()) {
      throw Error(fmt::format("cuBLASLt has no algorithm for {}", to_string(problem_)));
    }
    library_ = std::move(baselines.front().candidate);
  }

  void fill(Study& study) {
    announce("verifying the quantiser", std::string(kQuantisingAlone));
    if (!data_.agrees_with_plain(bench_.stream)) {
      fail(study, "quantising A gives other bytes than its definition");
      return;
    }
    study.message = library_->describe();
    struct Timed {
      const char* name;
      const QuantisedData* quantiser;
      std::shared_ptr<const Candidate> gemm;
    };
    const std::string cublas(kCublasLabel);
    for (const auto& [name, quantiser, gemm] :
         {Timed{kOurGemm, nullptr, ours_}, Timed{kOurGemmAfter, &data_, ours_},
          Timed{cublas.c_str(), nullptr, library_}, Timed{kCublasAfter, &data_, library_},
          Timed{kQuantisingAlone, &data_, nullptr}}) {
      auto step = std::make_unique<Step>(quantiser, gemm);
      if (gemm && !is_correct(study, name, *step)) return;
      announce("a first timing", name);
      const double estimate_us = sampler_.estimate_us(*step);
      sampler_.add(name, std::move(step), estimate_us);
      names_.emplace_back(name);
    }
    sample(study);
  }

 private:
  bool is_light() const { return problem_.intensity() <= protocol::kLightLoad; }

  void announce(const char* doing, const std::string& label) const {
    if (bench_.on_step) bench_.on_step({doing, label, true, 0});
  }

  static void fail(Study& study, const std::string& why) {
    study.status = Status::kWrongResult;
    study.message = why;
  }

  bool is_correct(Study& study, const std::string& name, const Candidate& step) const {
    announce("the first launch", name);
    data_.gemm().poison(bench_.stream);
    step.launch(data_.gemm().check_set(), bench_.stream.get());
    const Verdict verdict =
        data_.gemm().verify(bench_.stream, step.roundings(), step.rows_behind());
    if (!verdict.correct || verdict.error >= study.verdict.error) study.verdict = verdict;
    if (!verdict.correct) fail(study, fmt::format("{}: {}", name, verdict.message));
    return verdict.correct;
  }

  /// Samples in the sustained regime (device/protocol.h).
  void sample(Study& study) {
    const bool capped = sampler_.settle(Pace::kShared).power_capped;
    const Pace pace = capped && !is_light() ? Pace::kOwn : Pace::kShared;
    const int rounds = pace == Pace::kOwn ? kOwnRounds : kSharedRounds;
    std::mt19937_64 random(request_.seed);
    for (int round = 0; round < rounds;) {
      std::ranges::shuffle(names_, random);
      for (const std::vector<Sample>& of_round : sampler_.rounds(names_, pace)) {
        for (std::size_t i = 0; i < names_.size(); ++i) {
          std::vector<Sample>& samples = study.samples(names_[i]);
          samples.push_back(of_round.at(i));
          samples.back().round = round;
        }
        ++round;
      }
    }
  }

  const StudyRequest& request_;
  const Bench& bench_;
  GemmProblem problem_;
  QuantisedData data_;
  Sampler sampler_;
  std::shared_ptr<const Candidate> ours_, library_;
  std::vector<std::string> names_;
};

}  // namespace

QuantisedData::QuantisedData(const GemmProblem& problem, std::uint64_t seed, const Gpu& device,
                             const Stream& stream)
    : data_(problem, seed, device, stream) {
  // As large as A would be, of which a scale is only a part of the range of its type.
  const double of_a = std::pow(static_cast<double>(problem.k), -0.25);
  const double of_source = problem.scaling == Scaling::kTensor ? kScaleA * of_a : of_a;
  const std::int64_t elements = problem.m * problem.leading_a();
  for (int set = 0; set < data_.launchable_sets(); ++set) {
    const DeviceMemory& source =
        sources_.emplace_back(matrix_bytes(problem.m, problem.leading_a(), DataType::kBf16));
    fill_normal(source.data(), elements, DataType::kBf16, static_cast<float>(of_source), seed,
                kFirstStreamId + static_cast<std::uint32_t>(set), stream.get());
    quantise(set, stream.get());
  }
  data_.compute_reference(stream);
}

Quantised QuantisedData::matrix(int set) const {
  const Operands operands = data_.operands(set);
  return {.source = sources_.at(static_cast<std::size_t>(set)).data(),
          .source_type = DataType::kBf16,
          .source_leading = data_.problem().leading_a(),
          // They are the memory of ProblemData, which only launches take for constant.
          .a = const_cast<void*>(operands.a),
          .scale_a = const_cast<float*>(operands.scale_a)};
}

void QuantisedData::quantise(int set, cudaStream_t stream) const {
  hgemm::quantise(data_.problem(), matrix(set), stream);
}

bool QuantisedData::agrees_with_plain(const Stream& stream) const {
  const GemmProblem& problem = data_.problem();
  Quantised matrix = this->matrix(data_.check_set());
  const std::size_t a_bytes = matrix_bytes(problem.m, problem.leading_a(), problem.a_type);
  const std::size_t scale_bytes = matrix_bytes(1, problem.scales_of_a(), DataType::kFp32);
  const auto contents = [&](const Quantised& of) {
    std::vector<std::byte> all(a_bytes + scale_bytes);
    check(cudaMemcpyAsync(all.data(), of.a, a_bytes, cudaMemcpyDeviceToHost, stream.get()),
          "reading A");
    if (scale_bytes > 0) {
      check(cudaMemcpyAsync(all.data() + a_bytes, of.scale_a, scale_bytes, cudaMemcpyDeviceToHost,
                            stream.get()),
            "reading the scales of A");
    }
    stream.synchronize();
    return all;
  };
  // Padding, which neither writes, has the same content in both.
  const DeviceMemory a(a_bytes);
  const DeviceMemory scales(scale_bytes);
  const auto copy = [&](void* target, const void* source, std::size_t bytes) {
    if (bytes == 0) return;
    check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, stream.get()),
          "copying A");
  };
  copy(a.data(), matrix.a, a_bytes);
  copy(scales.data(), matrix.scale_a, scale_bytes);
  const std::vector<std::byte> found = contents(matrix);
  matrix.a = a.data();
  matrix.scale_a = scales.as<float>();
  quantise_plainly(problem, matrix, stream.get());
  return contents(matrix) == found;
}

Study run_quantise(const StudyRequest& request, const Cubin& cubin, const Bench& bench) {
  Study study;
  study.kind = request.kind;
  study.label = request.label;
  study.problem = request.problem;
  Measurement(request, cubin, bench).fill(study);
  return study;
}

}  // namespace hgemm
