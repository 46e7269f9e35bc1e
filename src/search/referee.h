// Who stays in a race and when it ends: pure logic, fed numbers. No GPU, no clock, no store.
//
// Screening has two steps, since a round of hundreds is dear and a round of few is cheap. First all
// candidates run once a round, and what is far slower than the best leaves. So few rounds do not
// tell close ones apart (a sample of a single launch scatters by 1 %): therefore more go on than
// the final has places, and compete for these in the semifinal, by all rounds of screening. It ends
// as soon as there are places for all who are left, and is skipped if there are from the start.
//
// Final: the few that are left run against the baselines until the result is known well enough.
// Whoever leads after screening leads partly by luck (the winner's curse: the best of hundreds of
// medians of few samples). Therefore nothing measured in screening counts in the final, neither
// here nor in the store: a finalist's trial holds samples of final rounds only.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "record/trial.h"

namespace hgemm {

/// How a race is run; the defaults are the protocol of results/.
struct RacePolicy {
  int screen_rounds = 3;            ///< rounds that candidates must survive; 0: all are finalists
  double screen_keep_ratio = 0.85;  ///< after each, keep what is within this of the fastest
  int semifinalists = 24;  ///< configs that compete for the final's places after these rounds
  int lt_semifinalists = 8;
  int semifinal_rounds = 6;  ///< further rounds of screening, for them; 0: there is no semifinal
  int finalists = 8;         ///< configs that go on to the final rounds
  int lt_finalists = 3;      ///< cuBLASLt algorithms that go on
  int min_rounds = 9;        ///< final rounds of those that stay
  int max_rounds = 40;
  double max_final_s = 15;  ///< of samples in final rounds, in sum; min_rounds go before it
  double interval_half_width = 0.005;  ///< relative; stop once the winner's ratios are this sure
  /// Instead of the above where the final may be at the own pace, whose rounds take a hundred times
  /// longer: six are the fewest that give an interval.
  int own_finalists = 5;
  int own_lt_finalists = 2;
  int own_min_rounds = 6;
  /// No finalist leaves before the end, however slow: something else than its time is wanted too.
  bool keep_finalists = false;
  std::uint64_t seed = 0;  ///< of data and of the order in rounds
};

/// The same race with a second or two to spend: one round tells the half dozen that are worth more,
/// and the final is of two or three and the better algorithm. `visits`: how often it goes round, at
/// the own pace how many windows a finalist has; 1 is the least that gives an interval.
RacePolicy in_brief(RacePolicy policy, int visits = 1);

/// Runs a race by telling whom to measure next. Labels tell configs, cuBLASLt algorithms and cublas
/// apart. Configs are compared with configs and algorithms with algorithms, so a shape where cuBLAS
/// is far ahead still has a best config; cublas itself always stays.
class Referee {
 public:
  Referee(std::span<const std::string> labels, const RacePolicy& policy);

  /// kScreen, then kFinal: of the round that comes next, or of the last one if finished().
  Stage phase() const { return phase_; }

  /// The winner's ratios are sure, a limit of the policy is reached, or no config is left.
  bool finished() const { return finished_; }

  /// Everyone still in the race, baselines mixed in, in a fresh random order: whatever drifts
  /// within a round (clock, temperature) favours nobody.
  std::vector<std::string> next_round();

  /// Ends a round with the sample of each label. A label that has none failed and is out; cublas
  /// must have one. Returns who was eliminated for being slow: in screening by rank, in the
  /// semifinal and the final (racing) when the phase's rounds exclude that it is as fast as the
  /// leader of its group (search/racing.h). Racing in the semifinal spares whoever would have a
  /// place in the final now.
  std::vector<std::string> end_round(const std::map<std::string, Sample>& samples);

  /// Of a round that is under way, by its samples so far: who will be eliminated at its end
  /// whatever times the others have. In the first round of screening that is who is far slower than
  /// the fastest so far, since the fastest can only get faster (should it fail yet, it was fast all
  /// the same); else nobody is sure to leave.
  std::set<std::string> sure_to_leave(const std::map<std::string, Sample>& so_far) const;

  struct Standing {
    std::string leader;       ///< empty if no config is left
    double ratio_cublas = 0;  ///< median over this phase's rounds of cublas' time / its time
  };
  /// After the last end_round(), for progress.
  const Standing& standing() const { return standing_; }

 private:
  enum class Group { kConfig, kCublasLt, kCublas };
  struct Entry {
    std::string label;
    Group group;
    std::vector<double> times_us;  ///< of this phase, a value a round: entries align
  };

  std::vector<const Entry*> members(Group group) const;
  double most_allowed_us(double fastest_us) const { return fastest_us / policy_.screen_keep_ratio; }
  const Entry& cublas() const;
  /// Fastest first. By ratio to cublas, not by time: a ratio within a round is free of drift, and
  /// it is what is reported.
  std::vector<const Entry*> ranked_by_ratio(Group group) const;
  void remove(const std::vector<std::string>& labels);
  std::size_t places(Group group) const;     ///< in the final
  std::size_t most_kept(Group group) const;  ///< after this round of screening
  double noise() const;
  std::vector<std::string> screen();
  bool is_screened() const;  ///< everyone left has a place in the final
  std::vector<std::string> eliminate_slow();
  bool is_decided();
  void update_standing(const Entry& leader);

  RacePolicy policy_;
  std::mt19937_64 random_;
  std::vector<Entry> entries_;  ///< those still in the race
  Stage phase_;
  int rounds_ = 0;      ///< of this phase
  double final_s_ = 0;  ///< of samples in final rounds
  bool finished_ = false;
  Standing standing_;
};

}  // namespace hgemm
