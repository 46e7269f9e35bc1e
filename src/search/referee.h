// Decides which candidates stay in a race and when it ends. Pure logic on numbers: no GPU, clock or
// store.
//
// Screening has two steps, because a round of hundreds is expensive and a round of few is cheap.
// First all candidates run once per round, and those far slower than the best leave. These few
// rounds do not separate close candidates (a sample of a single launch scatters by 1 %). Therefore
// more candidates go on than the final has places, and compete for the places in the semifinal, by
// all rounds of screening. The semifinal ends as soon as all that are left have places, and is
// skipped if that is so from the start.
//
// Final: the few that are left run against the baselines until the result is known well enough. The
// leader after screening leads partly by luck (the winner's curse: the best of hundreds of medians
// of few samples). Therefore no sample from screening counts in the final, neither here nor in the
// store: a finalist's trial holds only samples of final rounds.
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

/// The rules of a race; the defaults are the protocol of results/.
struct RacePolicy {
  int screen_rounds = 3;  ///< rounds that candidates must survive; 0: all are finalists
  /// After each round, keep candidates within this ratio of the fastest.
  double screen_keep_ratio = 0.85;
  int semifinalists = 24;    ///< configs that compete for places in the final after these rounds
  int lt_semifinalists = 8;  ///< algorithms of cuBLASLt, and variants of each peer
  int semifinal_rounds = 6;  ///< further rounds of screening for them; 0: no semifinal
  int finalists = 8;         ///< configs that go on to the final
  int lt_finalists = 3;      ///< cuBLASLt algorithms that go on, and variants of each peer
  int min_rounds = 9;        ///< least number of final rounds of a candidate that stays
  int max_rounds = 40;
  double max_final_s = 15;  ///< total time of samples in the final; min_rounds take precedence
  /// Relative; stop once the winner's ratios are known this well.
  double interval_half_width = 0.005;
  /// These replace the values above if the final may be at the own pace, where a round takes a
  /// hundred times longer. Six rounds are the fewest that give an interval.
  int own_finalists = 5;
  int own_lt_finalists = 2;
  int own_min_rounds = 6;
  /// No finalist leaves early, however slow; set if more than its time is wanted.
  bool keep_finalists = false;
  std::uint64_t seed = 0;  ///< of the data and of the order in rounds
};

/// The same race for a time of one or two seconds: one round selects the half dozen fastest, and
/// the final, which is never at the own pace, has three configs and the better algorithm. `visits`:
/// number of passes; 1 is the least that gives an interval.
RacePolicy in_brief(RacePolicy policy, int visits = 1);

/// Runs a race by telling the caller which candidates to measure next. Labels distinguish configs,
/// cublas, cuBLASLt algorithms and the variants of each peer. Configs are compared with configs and
/// the others with those of their library, so that a problem where cuBLAS is far ahead still has a
/// best config. cublas always stays.
class Referee {
 public:
  Referee(std::span<const std::string> labels, const RacePolicy& policy);

  /// kScreen, then kFinal: the phase of the next round, or of the last one if finished().
  Stage phase() const { return phase_; }

  /// True if the winner's ratios are known well enough, a limit of the policy is reached, or no
  /// config is left.
  bool finished() const { return finished_; }

  /// All labels still in the race, including baselines, in a fresh random order, so that drift
  /// within a round (clock, temperature) favours none.
  std::vector<std::string> next_round();

  /// Ends a round; `samples` has the sample of each label. A label without a sample failed and is
  /// out; cublas must have one. Returns the labels that were eliminated as slow. In screening the
  /// rank decides. In the semifinal and the final (racing), a label is eliminated when the rounds
  /// of the phase exclude that it is as fast as the leader of its group (search/racing.h). Racing
  /// in the semifinal spares labels that would have a place in the final now.
  std::vector<std::string> end_round(const std::map<std::string, Sample>& samples);

  /// The labels that will be eliminated at the end of the present round, whatever times the others
  /// have, given the samples so far. In the first round of screening these are the labels far
  /// slower than the fastest so far, because the fastest time can only decrease (if that candidate
  /// fails later, it was fast nevertheless). In all other rounds there are none.
  std::set<std::string> sure_to_leave(const std::map<std::string, Sample>& so_far) const;

  struct Standing {
    std::string leader;  ///< empty if no config is left
    /// Median over the rounds of this phase of cublas' time / the leader's time.
    double ratio_cublas = 0;
  };
  /// State after the last end_round(), for progress.
  const Standing& standing() const { return standing_; }

 private:
  /// "" for configs; otherwise cublas, cublaslt, or a peer's name in labels.
  using Group = std::string;
  struct Entry {
    std::string label;
    Group group;
    std::vector<double> times_us;  ///< one value per round of this phase, so that entries align
  };

  static Group group_of(const std::string& label);
  /// Those whose members compete with one another: all but that of cublas.
  std::vector<Group> groups() const;
  std::vector<const Entry*> members(const Group& group) const;
  double most_allowed_us(double fastest_us) const { return fastest_us / policy_.screen_keep_ratio; }
  const Entry& cublas() const;
  /// Fastest first, by the ratio to cublas and not by time: a ratio within a round is free of
  /// drift, and it is the reported result.
  std::vector<const Entry*> ranked_by_ratio(const Group& group) const;
  void remove(const std::vector<std::string>& labels);
  std::size_t places(const Group& group) const;     ///< in the final
  std::size_t most_kept(const Group& group) const;  ///< after this round of screening
  double noise() const;
  std::vector<std::string> screen();
  bool is_screened() const;  ///< whether all that are left have a place in the final
  std::vector<std::string> eliminate_slow();
  bool is_decided();
  void update_standing(const Entry& leader);

  RacePolicy policy_;
  std::mt19937_64 random_;
  std::vector<Entry> entries_;  ///< those still in the race
  Stage phase_;
  int rounds_ = 0;      ///< of this phase
  double final_s_ = 0;  ///< total time of samples in the final
  bool finished_ = false;
  Standing standing_;
};

}  // namespace hgemm
