#include "measure/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/protocol.h"

namespace hgemm {

Session::Session(const Shape& shape, std::uint64_t seed, const Device& device)
    : device_(device), problem_(shape, seed, device, stream_) {
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
  } catch (const CudaError& error) {
    if (error.sticky()) throw;
    return {.status = Status::kLaunchFailed, .message = error.what(), .verdict = {}};
  }
  return check_candidate(label, std::move(candidate));
}

Prepared Session::check_candidate(const std::string& label, std::unique_ptr<Candidate> candidate) {
  Prepared prepared;
  try {
    problem_.poison(stream_);
    candidate->launch(0, stream_.get());
    prepared.verdict = problem_.verify(stream_);
  } catch (const CudaError& error) {
    if (error.sticky()) throw;
    prepared.status = Status::kLaunchFailed;
    prepared.message = error.what();
    return prepared;
  } catch (const Error& error) {  // a library refused the call
    prepared.status = Status::kLaunchFailed;
    prepared.message = error.what();
    return prepared;
  }
  if (!prepared.verdict.correct) {
    prepared.status = Status::kWrongResult;
    prepared.message = prepared.verdict.message;
    return prepared;
  }

  prepared.estimate_us = estimate_us(*candidate);

  Timed timed;
  timed.candidate = std::move(candidate);
  timed.estimate_us = prepared.estimate_us;
  forget(label);
  timed_.emplace(label, std::move(timed));
  return prepared;
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

void Session::capture(Timed& timed) {
  const int sets = problem_.sets();
  const int wanted =
      std::clamp(static_cast<int>(std::ceil(protocol::kSampleUs / timed.estimate_us)), 1,
                 protocol::kMaxLaunchesPerSample);
  timed.launches = (wanted + sets - 1) / sets * sets;
  timed.sample.emplace(Graph::capture(stream_, [&] {
    for (int i = 0; i < timed.launches; ++i) timed.candidate->launch(i % sets, stream_.get());
  }));
}

void Session::settle(Regime) {  // there is one regime so far
  const Shape& shape = problem_.shape();
  const bool power_bound = shape.flops() / shape.bytes() > protocol::kArithmeticBound;
  const double least_ms = power_bound ? protocol::kSettleLongMs : protocol::kSettleShortMs;
  const std::string load(kCublasLabel);
  const std::vector<std::string> window(
      static_cast<std::size_t>(protocol::kSettleWindowMs * 1e3 / protocol::kSampleUs), load);

  double spent_ms = 0;
  double previous_mhz = 0;
  while (spent_ms < protocol::kSettleLimitMs) {
    double mhz = 0;
    for (const Sample& sample : round(window)) {
      spent_ms += sample.time_us * sample.launches * 1e-3;
      mhz += sample.sm_mhz / static_cast<double>(window.size());
    }
    const bool settled = std::abs(mhz - previous_mhz) < protocol::kSettledDrift * mhz;
    if (spent_ms >= least_ms && settled) break;
    previous_mhz = mhz;
  }
}

std::vector<Sample> Session::round(std::span<const std::string> labels) {
  std::vector<Timed*> order;
  for (const std::string& label : labels) {
    const auto found = timed_.find(label);
    if (found == timed_.end()) throw Error(label + " is to be timed but was not prepared");
    if (!found->second.sample) capture(found->second);
    order.push_back(&found->second);
  }

  const ClockStamps stamps(device_.sm_count, 2 * static_cast<int>(order.size()));
  std::vector<Event> starts(order.size());
  std::vector<Event> ends(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    stamps.record(2 * static_cast<int>(i), stream_);
    starts[i].record(stream_);
    order[i]->sample->launch(stream_);
    ends[i].record(stream_);
    stamps.record(2 * static_cast<int>(i) + 1, stream_);
  }
  stream_.synchronize();

  const std::vector<double> mhz = stamps.mhz_between_pairs(static_cast<int>(order.size()));
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < order.size(); ++i) {
    Sample sample;
    sample.launches = order[i]->launches;
    sample.time_us = ends[i].us_since(starts[i]) / order[i]->launches;
    sample.sm_mhz = mhz[i];
    samples.push_back(sample);
  }
  return samples;
}

}  // namespace hgemm
