#include "device/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/statistics.h"
#include "device/launch_mode.h"
#include "device/protocol.h"
#include "device/window.h"

namespace hgemm {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

double ms_since(SteadyClock::time_point start) {
  return Milliseconds(SteadyClock::now() - start).count();
}

/// Idle time before work of `work_ms`, in ms.
double rest_before(double work_ms, const protocol::Windows& windows) {
  return std::max(windows.rest_ms, protocol::kRestRatio * work_ms);
}

}  // namespace

Sampler::Sampler(const Stream& stream, const Work& work, const Gpu& device, const Nvml* nvml,
                 OnStep on_step)
    : stream_(stream),
      work_(work),
      sm_count_(device.sm_count),
      nvml_(nvml),
      on_step_(std::move(on_step)) {}

// ---- Candidates ----

double Sampler::estimate_us(const Candidate& candidate) const {
  Event start;
  Event end;
  const auto time_us = [&](const auto& enqueue) {
    keep_launches_fast(stream_);
    start.record(stream_);
    enqueue();
    end.record(stream_);
    stream_.synchronize();
    return end.us_since(start);
  };
  // One launch from the host takes several us whatever the kernel does, so short kernels need a
  // graph.
  constexpr double kLongUs = 200;
  constexpr int kLaunches = 16;
  const double single_us = time_us([&] { launch(candidate, 0); });
  if (single_us > kLongUs) return single_us;
  const Graph graph = Graph::capture(stream_, [&] {
    for (int i = 0; i < kLaunches; ++i) launch(candidate, i % work_.sets);
  });
  return time_us([&] { graph.launch(stream_); }) / kLaunches;
}

void Sampler::add(const std::string& label, std::unique_ptr<Candidate> candidate,
                  double estimate_us) {
  forget(label);
  const int sets = work_.sets;
  const int wanted = std::clamp(static_cast<int>(std::ceil(windows().sample_us / estimate_us)), 1,
                                protocol::kMaxLaunchesPerSample);
  const int launches = (wanted + sets - 1) / sets * sets;
  Graph replay = Graph::capture(stream_, [&] {
    for (int i = 0; i < launches; ++i) launch(*candidate, i % sets);
  });
  timed_.emplace(label,
                 Timed{label, std::move(candidate), std::move(replay), launches, estimate_us});
  idle_since_ = SteadyClock::now();  // the estimate ran on the GPU
}

void Sampler::forget(const std::string& label) { timed_.erase(label); }

/// Enqueues what one launch of a sample consists of.
void Sampler::launch(const Candidate& candidate, int set) const {
  if (work_.before) work_.before(set, stream_.get());
  candidate.launch(set, stream_.get());
  if (work_.after) work_.after(set, stream_.get());
}

/// The sets in turn, so that no call finds its inputs in L2.
int Sampler::next_set() { return next_set_ = (next_set_ + 1) % work_.sets; }

const Sampler::Timed& Sampler::timed(const std::string& label) const {
  const auto found = timed_.find(label);
  if (found == timed_.end()) throw std::invalid_argument(label + " was not prepared");
  return found->second;
}

// ---- Settling ----

Measurer::Settled Sampler::settle(Pace pace) {
  if (pace != Pace::kRested) return settle_at_full_load();
  settle_rested();
  return {};
}

Measurer::Settled Sampler::settle_at_full_load() {
  const double least_ms = work_.light ? windows().settle_short_ms : protocol::kSettleLongMs;
  double spent_ms = 0;
  double previous_mhz = 0;
  bool capped = false;
  while (spent_ms < windows().settle_limit_ms) {
    const std::vector<Sample> window = load(windows().settle_window_ms);
    const auto count = static_cast<double>(window.size());
    double mhz = 0;
    double share_capped = 0;
    for (const Sample& sample : window) {
      spent_ms += sample.time_us * sample.launches * 1e-3;
      mhz += sample.sm_mhz / count;
      const std::uint64_t assumed = work_.light ? 0 : clock_event::kPowerCap;
      const std::uint64_t events = sample.clock_events.value_or(assumed);
      if ((events & clock_event::kPowerCap) != 0) share_capped += 1 / count;
    }
    capped = share_capped > 0.5;
    const bool settled = std::abs(mhz - previous_mhz) < protocol::kSettledDrift * mhz;
    if (spent_ms >= least_ms && settled) break;
    previous_mhz = mhz;
  }
  return {capped};
}

void Sampler::settle_rested() {
  const SteadyClock::time_point start = SteadyClock::now();
  const auto capped = [this] {
    const auto events = nvml_ != nullptr ? nvml_->clock_event_reasons() : std::nullopt;
    return (events.value_or(0) & clock_event::kPowerCap) != 0;
  };
  while (capped() && ms_since(start) < protocol::kLeaveCapLimitMs) {
    announce("resting", "", protocol::kLeaveCapStepMs);
    std::this_thread::sleep_for(Milliseconds(protocol::kLeaveCapStepMs));
  }
  double previous_us = 0;
  while (ms_since(start) < windows().settle_rested_limit_ms) {
    std::vector<double> times_us;
    for (int i = 0; i < protocol::kRestedGroup; ++i) {
      times_us.push_back(run_rested(timed(std::string(kCublasLabel))).time_us);
    }
    const double time_us = median(times_us);
    if (std::abs(time_us - previous_us) < protocol::kSettledDrift * time_us) break;
    previous_us = time_us;
  }
}

std::vector<Sample> Sampler::load(double duration_ms) {
  const Timed& cublas = timed(std::string(kCublasLabel));
  const auto samples =
      static_cast<std::size_t>(std::max(1.0, std::ceil(duration_ms / cublas.replay_ms())));
  return run_shared(std::vector<const Timed*>(samples, &cublas));
}

// ---- Rounds ----

std::vector<std::vector<Sample>> Sampler::rounds(std::span<const std::string> labels, Pace pace) {
  std::vector<const Timed*> order;
  for (const std::string& label : labels) order.push_back(&timed(label));
  if (pace == Pace::kShared) {
    if (ms_since(idle_since_) > protocol::kPauseMs) load(windows().resume_ms);
    return {run_shared(order)};
  }
  constexpr auto own_samples = static_cast<std::size_t>(protocol::kOwnSamples);
  std::vector<std::vector<Sample>> rounds(pace == Pace::kOwn ? own_samples : 1);
  for (const Timed* timed : order) {
    if (pace != Pace::kOwn) {
      rounds.front().push_back(pace == Pace::kSingle ? run_single(*timed) : run_rested(*timed));
      continue;
    }
    const std::vector<Sample> window = run_own(*timed);
    for (std::size_t i = 0; i < rounds.size(); ++i) rounds[i].push_back(window.at(i));
  }
  return rounds;
}

std::vector<Sample> Sampler::run_shared(std::span<const Timed* const> order) {
  reserve_slots(order.size());
  // The driver's queue of launches is bounded, so enqueueing a round of thousands of samples takes
  // almost as long as running it.
  double round_ms = 0;
  for (const Timed* timed : order) round_ms += timed->replay_ms();
  announce("enqueueing samples", "", round_ms, false);
  for (std::size_t i = 0; i < order.size(); ++i) enqueue(*order[i], 1, i);
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < order.size(); ++i) {
    announce("a sample", order[i]->label, order[i]->replay_ms(), false);
    samples.push_back(await(order[i]->launches, i, Pace::kShared));
  }
  stream_.synchronize();
  idle_since_ = SteadyClock::now();
  const std::vector<double> mhz = stamps_->mhz_between_pairs(static_cast<int>(order.size()));
  for (std::size_t i = 0; i < order.size(); ++i) samples[i].sm_mhz = mhz[i];
  return samples;
}

std::vector<Sample> Sampler::run_own(const Timed& timed) {
  const LeadIn lead_in = lead_in_of(protocol::kLeadInMs, timed.replay_ms());
  constexpr int samples = protocol::kOwnSamples;
  const auto count = static_cast<std::size_t>(samples);
  announce("a sample", timed.label,
           timed.replay_ms() * lead_in.replays() +
               samples * std::max(protocol::kOwnSampleMs, timed.replay_ms()));
  reserve_slots(count);
  const auto replay = [&](int times) {
    for (int i = 0; i < times; ++i) timed.replay.launch(stream_);
  };
  Event& start = starts_.front();  // the first sample's events, which are free until that sample
  Event& end = ends_.front();
  keep_launches_fast(stream_);
  replay(lead_in.before);
  start.record(stream_);
  replay(lead_in.timed);
  end.record(stream_);
  replay(lead_in.after);
  end.synchronize();
  const double replay_ms = end.us_since(start) * 1e-3 / lead_in.timed;
  const int replays = replays_in(protocol::kOwnSampleMs, replay_ms);
  for (std::size_t i = 0; i < count; ++i) enqueue(timed, replays, i);
  std::vector<Sample> window;
  for (std::size_t i = 0; i < count; ++i) {
    window.push_back(await(timed.launches * replays, i, Pace::kOwn));
  }
  stream_.synchronize();
  idle_since_ = SteadyClock::now();
  const std::vector<double> mhz = stamps_->mhz_between_pairs(samples);
  for (std::size_t i = 0; i < count; ++i) window[i].sm_mhz = mhz[i];
  return window;
}

Sample Sampler::run_rested(const Timed& timed) {
  const double rest_ms = rest_before(timed.replay_ms(), windows());
  announce("a sample", timed.label, timed.replay_ms() + rest_ms);
  reserve_slots(1);
  std::this_thread::sleep_for(Milliseconds(rest_ms - ms_since(idle_since_)));
  enqueue(timed, 1, 0);
  ends_.front().synchronize();
  // A query of NVML takes a millisecond or two, during which the GPU already rests.
  idle_since_ = SteadyClock::now();
  Sample sample = await(timed.launches, 0, Pace::kRested);
  stream_.synchronize();
  sample.sm_mhz = stamps_->mhz_between_pairs(1).front();
  return sample;
}

Sample Sampler::run_single(const Timed& timed) {
  const double rest_ms = rest_before(timed.estimate_us * 1e-3, windows());
  announce("a call", timed.label, timed.estimate_us * 1e-3 + rest_ms);
  reserve_slots(1);
  if (!gate_) gate_.emplace();
  const int set = next_set();
  // The host may be held up for longer than the gate waits; then the call is made again.
  constexpr int kTries = 3;
  for (int tries = 0; tries == 0 || gate_->was_late(); ++tries) {
    if (tries == kTries) {
      throw Error(
          fmt::format("{} takes the host more than {} ms in a call: it waits there for the "
                      "GPU, or for another process",
                      timed.label, StreamGate::kLimitMs));
    }
    std::this_thread::sleep_for(Milliseconds(rest_ms - ms_since(idle_since_)));
    keep_launches_fast(stream_);
    gate_->close(stream_);
    stamps_->record(0, stream_);
    starts_.front().record(stream_);
    launch(*timed.candidate, set);
    ends_.front().record(stream_);
    stamps_->record(1, stream_);
    gate_->open();
    ends_.front().synchronize();
    idle_since_ = SteadyClock::now();
    stream_.synchronize();
  }
  Sample sample = await(1, 0, Pace::kSingle);
  stream_.synchronize();
  sample.sm_mhz = stamps_->mhz_between_pairs(1).front();
  return sample;
}

void Sampler::reserve_slots(std::size_t count) {
  const int stamps = 2 * static_cast<int>(count);
  if (!stamps_ || stamps_->capacity() < stamps) stamps_.emplace(sm_count_, stamps);
  while (starts_.size() < count) {
    starts_.emplace_back();
    ends_.emplace_back();
  }
  stamps_->clear(stream_);
}

void Sampler::enqueue(const Timed& timed, int replays, std::size_t slot) {
  const int stamp = 2 * static_cast<int>(slot);
  keep_launches_fast(stream_);
  stamps_->record(stamp, stream_);
  starts_[slot].record(stream_);
  for (int i = 0; i < replays; ++i) timed.replay.launch(stream_);
  ends_[slot].record(stream_);
  stamps_->record(stamp + 1, stream_);
}

Sample Sampler::await(int launches, std::size_t slot, Pace pace) {
  ends_[slot].synchronize();
  Sample sample;
  sample.pace = pace;
  sample.launches = launches;
  sample.time_us = ends_[slot].us_since(starts_[slot]) / sample.launches;
  if (nvml_ != nullptr) {
    sample.power_w = nvml_->power_w();
    sample.temperature_c = nvml_->temperature_c();
    sample.clock_events = nvml_->clock_event_reasons();
  }
  return sample;
}

// ---- Energy ----

std::optional<Energy> Sampler::energy(const std::string& label) {
  if (nvml_ == nullptr || !nvml_->energy_j()) return std::nullopt;
  const Timed& candidate = timed(label);
  // The GPU must have work while the host queries NVML, which takes 4 ms.
  constexpr double kChunkMs = 20;
  constexpr std::size_t kChunksAhead = 3;
  // A busy host that saw a step 47 ms late had a power 5 % too low.
  constexpr double kLongestQueryMs = 8;
  const double window_ms = protocol::kEnergyWindowMs;
  const double limit_ms = protocol::kEnergyLeadInMs + 2 * window_ms;
  announce("an energy window", label, limit_ms);

  const int replays = replays_in(kChunkMs, candidate.replay_ms());
  std::vector<Event> boundaries(1);  // between chunks
  boundaries.front().record(stream_);
  const auto add_chunk = [&] {
    // Once was not enough: launches took 6 % longer than in the race in a recorded window of cublas
    // at 1x12288x4096.
    keep_launches_fast(stream_);
    for (int i = 0; i < replays; ++i) candidate.replay.launch(stream_);
    boundaries.emplace_back().record(stream_);
  };

  struct Step {
    SteadyClock::time_point time;
    double joules;
    std::size_t chunk;  ///< chunk that was running
  };
  std::optional<Step> first;
  std::optional<Step> last;
  const SteadyClock::time_point start = SteadyClock::now();
  double joules = nvml_->energy_j().value_or(0);
  SteadyClock::time_point asked = start;
  std::size_t done = 0;
  while (!last && ms_since(start) < limit_ms) {
    while (done + 1 < boundaries.size() && boundaries[done + 1].completed()) ++done;
    while (boundaries.size() <= done + kChunksAhead) add_chunk();
    const double now_joules = nvml_->energy_j().value_or(joules);
    const SteadyClock::time_point now = SteadyClock::now();
    const bool is_exact = Milliseconds(now - std::exchange(asked, now)).count() <= kLongestQueryMs;
    if (now_joules == joules) continue;
    joules = now_joules;
    if (!is_exact) continue;  // it stepped at any time since the query before
    const Step step{now, joules, done};
    if (!first) {
      if (ms_since(start) > protocol::kEnergyLeadInMs) first = step;
    } else if (Milliseconds(step.time - first->time).count() >= window_ms) {
      last = step;
    }
  }
  stream_.synchronize();
  if (!last) return std::nullopt;  // the counter does not advance

  Energy energy;
  energy.window_s = std::chrono::duration<double>(last->time - first->time).count();
  energy.power_w = (last->joules - first->joules) / energy.window_s;
  const double launches = static_cast<double>(last->chunk - first->chunk) * replays *
                          static_cast<double>(candidate.launches);
  energy.time_us = boundaries[last->chunk].us_since(boundaries[first->chunk]) / launches;
  return energy;
}

// ---- Calls ----

CallTime Sampler::calls(const std::string& label) {
  const Timed& called = timed(label);
  const double rest_ms = rest_before(called.estimate_us * 1e-3, windows());
  const int calls = windows().calls;
  announce("timed calls", label, 2 * calls * (called.estimate_us * 1e-3 + rest_ms));
  const TimedCall call{
      .rest = [rest_ms] { std::this_thread::sleep_for(Milliseconds(rest_ms)); },
      .call = [&] { called.candidate->launch(next_set(), stream_.get()); },
      .finish = [this] { stream_.synchronize(); },
  };
  const CallTime time = time_calls(calls, work_.effort == Effort::kFull, call);
  idle_since_ = SteadyClock::now();
  return time;
}

void Sampler::announce(const char* doing, const std::string& label, double expected_ms,
                       bool alone) const {
  if (on_step_) on_step_({doing, label, alone, expected_ms});
}

}  // namespace hgemm
