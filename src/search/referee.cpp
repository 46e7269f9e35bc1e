#include "search/referee.h"

#include <algorithm>
#include <functional>
#include <set>

#include "base/error.h"
#include "base/statistics.h"
#include "record/peer.h"
#include "search/racing.h"

namespace hgemm {
namespace {

double half_width(const Interval& interval) { return (interval.high - interval.low) / 2; }

const std::string kConfigs;  ///< the group of configs

/// The ratio of each round.
std::vector<double> ratios(const std::vector<double>& of, const std::vector<double>& to) {
  std::vector<double> out(of.size());
  std::ranges::transform(of, to, out.begin(), std::divides<>());
  return out;
}

}  // namespace

RacePolicy in_brief(RacePolicy policy, int visits) {
  policy.screen_rounds = std::min(policy.screen_rounds, 1);
  policy.semifinalists = 6;
  policy.lt_semifinalists = 2;
  policy.semifinal_rounds = 2 * visits;
  policy.finalists = 3;
  policy.lt_finalists = 1;
  policy.min_rounds = policy.max_rounds = 6 * visits;
  return policy;
}

Referee::Referee(std::span<const std::string> labels, const RacePolicy& policy)
    : policy_(policy),
      random_(policy.seed),
      phase_(policy.screen_rounds > 0 ? Stage::kScreen : Stage::kFinal) {
  for (const std::string& label : labels) {
    entries_.push_back({label, group_of(label), {}});
  }
  finished_ = members(kConfigs).empty();
}

std::vector<std::string> Referee::next_round() {
  std::vector<std::string> order;
  for (const Entry& entry : entries_) order.push_back(entry.label);
  std::shuffle(order.begin(), order.end(), random_);
  return order;
}

std::vector<std::string> Referee::end_round(const std::map<std::string, Sample>& samples) {
  std::erase_if(entries_, [&](const Entry& entry) { return !samples.contains(entry.label); });
  for (Entry& entry : entries_) entry.times_us.push_back(samples.at(entry.label).time_us);
  ++rounds_;
  standing_ = {};
  if (phase_ == Stage::kScreen) return screen();

  for (const auto& [label, sample] : samples) final_s_ += sample.time_us * 1e-6 * sample.launches;
  finished_ = is_decided();
  // Candidates of the last round count as measured to the end.
  return finished_ || policy_.keep_finalists ? std::vector<std::string>{} : eliminate_slow();
}

std::set<std::string> Referee::sure_to_leave(const std::map<std::string, Sample>& so_far) const {
  std::set<std::string> leaving;
  if (phase_ != Stage::kScreen || rounds_ > 0) return leaving;
  for (const Group& group : groups()) {
    std::vector<std::pair<double, const Entry*>> measured;
    for (const Entry* entry : members(group)) {
      const auto found = so_far.find(entry->label);
      if (found != so_far.end()) measured.emplace_back(found->second.time_us, entry);
    }
    if (measured.empty()) continue;
    const double most = most_allowed_us(std::ranges::min_element(measured)->first);
    for (const auto& [time_us, entry] : measured) {
      if (time_us > most) leaving.insert(entry->label);
    }
  }
  return leaving;
}

Referee::Group Referee::group_of(const std::string& label) {
  if (is_cublaslt(label)) return "cublaslt";
  if (is_peer(label)) return std::string(kPeerPrefix) + std::string(peer_name(label));
  return is_baseline(label) ? label : kConfigs;
}

std::vector<Referee::Group> Referee::groups() const {
  std::set<Group> groups;
  for (const Entry& entry : entries_) groups.insert(entry.group);
  groups.erase(std::string(kCublasLabel));
  return {groups.begin(), groups.end()};
}

std::vector<const Referee::Entry*> Referee::members(const Group& group) const {
  std::vector<const Entry*> out;
  for (const Entry& entry : entries_) {
    if (entry.group == group) out.push_back(&entry);
  }
  return out;
}

const Referee::Entry& Referee::cublas() const {
  const auto entry = std::ranges::find(entries_, kCublasLabel, &Entry::group);
  if (entry == entries_.end()) throw Error("a round has no sample of cublas: there are no ratios");
  return *entry;
}

std::vector<const Referee::Entry*> Referee::ranked_by_ratio(const Group& group) const {
  auto ranked = members(group);
  std::map<const Entry*, double> ratio;
  for (const Entry* entry : ranked)
    ratio[entry] = median(ratios(cublas().times_us, entry->times_us));
  std::ranges::stable_sort(ranked, std::greater<>(), [&](const Entry* e) { return ratio.at(e); });
  return ranked;
}

void Referee::remove(const std::vector<std::string>& labels) {
  const std::set<std::string> out(labels.begin(), labels.end());
  std::erase_if(entries_, [&](const Entry& entry) { return out.contains(entry.label); });
}

std::size_t Referee::places(const Group& group) const {
  return static_cast<std::size_t>(group == kConfigs ? policy_.finalists : policy_.lt_finalists);
}

double Referee::noise() const {
  std::vector<std::vector<double>> times_us;
  for (const Entry& entry : entries_) times_us.push_back(entry.times_us);
  return ratio_noise(times_us);
}

std::vector<std::string> Referee::screen() {
  const bool semifinal = rounds_ > policy_.screen_rounds;
  const double noise = semifinal ? this->noise() : 0;
  std::vector<std::string> eliminated;
  for (const Group& group : groups()) {
    auto ranked = members(group);
    if (ranked.empty()) continue;
    const auto time_us = [](const Entry* entry) { return median(entry->times_us); };
    std::ranges::stable_sort(ranked, {}, time_us);
    const Entry& leader = *ranked[0];
    if (group == kConfigs) update_standing(leader);

    const double most_allowed_us = this->most_allowed_us(time_us(&leader));
    const std::size_t most_kept = this->most_kept(group);
    for (std::size_t i = 0; i < ranked.size(); ++i) {
      const Entry& entry = *ranked[i];
      const bool slow = semifinal ? i >= places(group) &&
                                        is_clearly_slower(ratios(entry.times_us, leader.times_us),
                                                          noise, policy_.interval_half_width)
                                  : time_us(&entry) > most_allowed_us;
      if (slow || i >= most_kept) eliminated.push_back(entry.label);
    }
  }
  remove(eliminated);
  finished_ = members(kConfigs).empty();
  if (is_screened()) {
    phase_ = Stage::kFinal;
    rounds_ = 0;
    for (Entry& entry : entries_) entry.times_us.clear();
  }
  return eliminated;
}

std::size_t Referee::most_kept(const Group& group) const {
  if (rounds_ < policy_.screen_rounds) return entries_.size();
  if (rounds_ >= policy_.screen_rounds + policy_.semifinal_rounds) return places(group);
  const int semifinalists = group == kConfigs ? policy_.semifinalists : policy_.lt_semifinalists;
  return std::max(static_cast<std::size_t>(semifinalists), places(group));
}

bool Referee::is_screened() const {
  return rounds_ >= policy_.screen_rounds && std::ranges::all_of(groups(), [&](const Group& group) {
           return members(group).size() <= places(group);
         });
}

std::vector<std::string> Referee::eliminate_slow() {
  const double noise = this->noise();
  std::vector<std::string> eliminated;
  for (const Group& group : groups()) {
    const auto ranked = ranked_by_ratio(group);
    for (const Entry* entry : ranked) {
      const auto to_leader = ratios(entry->times_us, ranked[0]->times_us);
      if (is_clearly_slower(to_leader, noise, policy_.interval_half_width)) {
        eliminated.push_back(entry->label);
      }
    }
  }
  remove(eliminated);
  return eliminated;
}

/// Whether more rounds would not change the reported result: the leader's ratios to both baselines
/// are known, and the leader is either distinguished from the runner-up or known to be equal. Also
/// true if a limit is reached.
bool Referee::is_decided() {
  const auto ranked = ranked_by_ratio(kConfigs);
  if (ranked.empty()) return true;
  const Entry& leader = *ranked[0];
  update_standing(leader);
  if (rounds_ >= policy_.max_rounds) return true;
  if (rounds_ < policy_.min_rounds) return false;
  if (final_s_ >= policy_.max_final_s) return true;

  std::vector<const Entry*> baselines{&cublas()};
  // Reports compare with the fastest of each library.
  for (const Group& group : groups()) {
    if (group != kConfigs) baselines.push_back(ranked_by_ratio(group).front());
  }
  const double sure = policy_.interval_half_width;
  for (const Entry* baseline : baselines) {
    const auto to_baseline = ratios(baseline->times_us, leader.times_us);
    if (half_width(median_interval(to_baseline)) > sure * median(to_baseline)) return false;
  }
  if (ranked.size() == 1) return true;
  const Interval lead = median_interval(ratios(ranked[1]->times_us, leader.times_us));
  return lead.low > 1 || lead.high < 1 || half_width(lead) <= sure;
}

void Referee::update_standing(const Entry& leader) {
  standing_ = {leader.label, median(ratios(cublas().times_us, leader.times_us))};
}

}  // namespace hgemm
