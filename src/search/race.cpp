#include "search/race.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "base/error.h"
#include "statistics/statistics.h"

namespace hgemm {
namespace {

double half_width(const Interval& interval) { return (interval.high - interval.low) / 2; }

/// Round by round.
std::vector<double> ratios(const std::vector<double>& of, const std::vector<double>& to) {
  std::vector<double> out(of.size());
  std::ranges::transform(of, to, out.begin(), std::divides<>());
  return out;
}

}  // namespace

Referee::Referee(std::span<const std::string> labels, const RacePolicy& policy, ScreenBy screen_by)
    : policy_(policy),
      screen_by_(screen_by),
      random_(policy.seed),
      phase_(policy.screen_rounds > 0 ? Stage::kScreen : Stage::kFinal) {
  for (const std::string& label : labels) {
    const Group group = label == kCublasLabel ? Group::kCublas
                        : is_cublaslt(label)  ? Group::kCublasLt
                                              : Group::kConfig;
    entries_.push_back({label, group, {}});
  }
  finished_ = members(Group::kConfig).empty();
}

std::vector<std::string> Referee::next_round() {
  std::vector<std::string> order;
  for (const Entry& entry : entries_) order.push_back(entry.label);
  std::shuffle(order.begin(), order.end(), random_);
  return order;
}

std::vector<std::string> Referee::end_round(const std::map<std::string, Sample>& samples) {
  std::erase_if(entries_, [&](const Entry& entry) { return !samples.contains(entry.label); });
  const bool clocks_known =
      std::ranges::all_of(samples, [](const auto& item) { return item.second.sm_mhz > 0; });
  const bool by_cycles =
      phase_ == Stage::kScreen && screen_by_ == ScreenBy::kCycles && clocks_known;
  for (Entry& entry : entries_) {
    const Sample& sample = samples.at(entry.label);
    entry.costs.push_back(by_cycles ? sample.time_us * sample.sm_mhz : sample.time_us);
  }
  ++rounds_;
  standing_ = {};
  if (phase_ == Stage::kScreen) return screen();
  finished_ = is_decided();
  return {};
}

std::vector<const Referee::Entry*> Referee::members(Group group) const {
  std::vector<const Entry*> out;
  for (const Entry& entry : entries_) {
    if (entry.group == group) out.push_back(&entry);
  }
  return out;
}

const Referee::Entry& Referee::cublas() const {
  const auto entry = std::ranges::find(entries_, Group::kCublas, &Entry::group);
  if (entry == entries_.end()) throw Error("a round has no sample of cublas: there are no ratios");
  return *entry;
}

std::vector<std::string> Referee::screen() {
  const bool last = rounds_ >= policy_.screen_rounds;
  std::vector<std::string> eliminated;
  for (const Group group : {Group::kConfig, Group::kCublasLt}) {
    auto ranked = members(group);
    if (ranked.empty()) continue;
    const auto cost = [](const Entry* entry) { return median(entry->costs); };
    std::ranges::stable_sort(ranked, {}, cost);
    if (group == Group::kConfig) update_standing(*ranked[0]);

    const double most_allowed = cost(ranked[0]) / policy_.screen_keep_ratio;
    const int most_kept = group == Group::kConfig ? policy_.finalists : policy_.lt_finalists;
    for (std::size_t i = 0; i < ranked.size(); ++i) {
      const bool surplus = last && std::cmp_greater_equal(i, most_kept);
      if (surplus || cost(ranked[i]) > most_allowed) eliminated.push_back(ranked[i]->label);
    }
  }
  const std::set<std::string> out(eliminated.begin(), eliminated.end());
  std::erase_if(entries_, [&](const Entry& entry) { return out.contains(entry.label); });
  finished_ = members(Group::kConfig).empty();
  if (last) {
    phase_ = Stage::kFinal;
    rounds_ = 0;
    for (Entry& entry : entries_) entry.costs.clear();
  }
  return eliminated;
}

/// More rounds would not change what is reported: the leader's ratio to cublas is known, and the
/// leader is either told from the runner-up or known to be as good.
bool Referee::is_decided() {
  auto ranked = members(Group::kConfig);
  if (ranked.empty()) return true;
  // By ratio, not by time: a ratio within a round is free of drift, and it is what is reported.
  std::ranges::stable_sort(ranked, std::greater<>(), [this](const Entry* entry) {
    return median(ratios(cublas().costs, entry->costs));
  });
  const Entry& leader = *ranked[0];
  update_standing(leader);
  if (rounds_ >= policy_.max_rounds) return true;
  if (rounds_ < policy_.min_rounds) return false;

  const double sure = policy_.interval_half_width;
  const Interval ratio = median_interval(ratios(cublas().costs, leader.costs));
  if (half_width(ratio) > sure * standing_.ratio_cublas) return false;
  if (ranked.size() == 1) return true;
  const Interval lead = median_interval(ratios(ranked[1]->costs, leader.costs));
  return lead.low > 1 || lead.high < 1 || half_width(lead) <= sure;
}

void Referee::update_standing(const Entry& leader) {
  standing_ = {leader.label, median(ratios(cublas().costs, leader.costs))};
}

}  // namespace hgemm
