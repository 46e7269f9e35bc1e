#include "measure/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "measure/protocol.h"

namespace hgemm {
namespace {

/// To be called in a handler. What CUDA or a library refused is the candidate's own failure, unless
/// the context is lost with it: then the error goes on.
Prepared launch_failure(const Error& error) {
  const auto* const cuda_error = dynamic_cast<const CudaError*>(&error);
  if (cuda_error != nullptr && cuda_error->sticky()) throw;
  return {.status = Status::kLaunchFailed, .message = error.what(), .verdict = {}};
}

}  // namespace

Session::Session(const Shape& shape, std::uint64_t seed, const Device& device)
    : sm_count_(device.sm_count), problem_(shape, seed, device, stream_) {
  for (Baseline& baseline : make_baselines(problem_)) {
    const std::string description = baseline.candidate->describe();
    Prepared prepared = check_candidate(baseline.label, std::move(baseline.candidate));
    prepared.message = prepared.status == Status::kOk
                           ? description
                           : fmt::format("{}: {}", description, prepared.message);
    opened_.baselines.push_back(baseline.label);
    opened_.prepared.push_back(std::move(prepared));
  }
}

Prepared Session::prepare(const std::string& label, const KernelConfig& config,
                          const std::filesystem::path& cubin) {
  std::unique_ptr<Candidate> candidate;
  try {
    candidate = make_kernel_candidate(config, cubin, problem_);
  } catch (const Error& error) {
    return launch_failure(error);
  }
  return check_candidate(label, std::move(candidate));
}

Prepared Session::check_candidate(const std::string& label, std::unique_ptr<Candidate> candidate) {
  Prepared prepared;
  try {
    problem_.poison(stream_);
    candidate->launch(0, stream_.get());
    prepared.verdict = problem_.verify(stream_);
    if (!prepared.verdict.correct) {
      prepared.status = Status::kWrongResult;
      prepared.message = prepared.verdict.message;
      return prepared;
    }
    prepared.estimate_us = estimate_us(*candidate);
    forget(label);
    timed_.emplace(label, capture(std::move(candidate), prepared.estimate_us));
    return prepared;
  } catch (const Error& error) {
    return launch_failure(error);
  }
}

double Session::estimate_us(const Candidate& candidate) const {
  Event start;
  Event end;
  const auto time_us = [&](const auto& enqueue) {
    start.record(stream_);
    enqueue();
    end.record(stream_);
    stream_.synchronize();
    return end.us_since(start);
  };
  // One launch from the host takes several us whatever the kernel does: short kernels need a graph.
  constexpr double kLongUs = 200;
  constexpr int kLaunches = 16;
  const double single_us = time_us([&] { candidate.launch(0, stream_.get()); });
  if (single_us > kLongUs) return single_us;
  const Graph graph = Graph::capture(stream_, [&] {
    for (int i = 0; i < kLaunches; ++i) candidate.launch(i % problem_.sets(), stream_.get());
  });
  return time_us([&] { graph.launch(stream_); }) / kLaunches;
}

void Session::forget(const std::string& label) { timed_.erase(label); }

Session::Timed Session::capture(std::unique_ptr<Candidate> candidate, double estimate_us) const {
  const int sets = problem_.sets();
  const int wanted = std::clamp(static_cast<int>(std::ceil(protocol::kSampleUs / estimate_us)), 1,
                                protocol::kMaxLaunchesPerSample);
  const int launches = (wanted + sets - 1) / sets * sets;
  Graph sample = Graph::capture(stream_, [&] {
    for (int i = 0; i < launches; ++i) candidate->launch(i % sets, stream_.get());
  });
  return {std::move(candidate), std::move(sample), launches, estimate_us};
}

const Session::Timed& Session::timed(const std::string& label) const {
  const auto found = timed_.find(label);
  if (found == timed_.end()) throw std::invalid_argument(label + " was not prepared");
  return found->second;
}

void Session::settle(Regime) {  // there is one regime so far
  const Shape& shape = problem_.shape();
  const bool light = shape.flops() / shape.bytes() <= protocol::kLightLoad;
  const double least_ms = light ? protocol::kSettleShortMs : protocol::kSettleLongMs;
  double spent_ms = 0;
  double previous_mhz = 0;
  while (spent_ms < protocol::kSettleLimitMs) {
    const std::vector<Sample> window = load(protocol::kSettleWindowMs);
    double mhz = 0;
    for (const Sample& sample : window) {
      spent_ms += sample.time_us * sample.launches * 1e-3;
      mhz += sample.sm_mhz / static_cast<double>(window.size());
    }
    const bool settled = std::abs(mhz - previous_mhz) < protocol::kSettledDrift * mhz;
    if (spent_ms >= least_ms && settled) break;
    previous_mhz = mhz;
  }
}

std::vector<Sample> Session::load(double duration_ms) {
  const Timed& cublas = timed(std::string(kCublasLabel));
  const double sample_ms = cublas.estimate_us * cublas.launches * 1e-3;
  const auto samples = static_cast<std::size_t>(std::max(1.0, std::ceil(duration_ms / sample_ms)));
  return run(std::vector<const Timed*>(samples, &cublas));
}

std::vector<Sample> Session::round(std::span<const std::string> labels) {
  std::vector<const Timed*> order;
  for (const std::string& label : labels) order.push_back(&timed(label));
  const std::chrono::duration<double, std::milli> pause =
      std::chrono::steady_clock::now() - idle_since_;
  if (pause.count() > protocol::kPauseMs) load(protocol::kResumeMs);
  return run(order);
}

std::vector<Sample> Session::run(std::span<const Timed* const> order) {
  const int count = static_cast<int>(order.size());
  if (!stamps_ || stamps_->capacity() < 2 * count) stamps_.emplace(sm_count_, 2 * count);
  while (starts_.size() < order.size()) {
    starts_.emplace_back();
    ends_.emplace_back();
  }
  stamps_->clear(stream_);
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    stamps_->record(2 * i, stream_);
    starts_[at].record(stream_);
    order[at]->sample.launch(stream_);
    ends_[at].record(stream_);
    stamps_->record(2 * i + 1, stream_);
  }
  stream_.synchronize();
  idle_since_ = std::chrono::steady_clock::now();

  const std::vector<double> mhz = stamps_->mhz_between_pairs(count);
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < order.size(); ++i) {
    Sample sample;
    sample.launches = order[i]->launches;
    sample.time_us = ends_[i].us_since(starts_[i]) / order[i]->launches;
    sample.sm_mhz = mhz[i];
    samples.push_back(sample);
  }
  return samples;
}

}  // namespace hgemm
