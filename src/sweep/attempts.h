// Who tried to measure a race, and how that ended: the evidence for setting a race aside. It is
// kept in the names of files, so that a node that dies cannot leave a half-written record.
//
//   attempts/0007/<race>@<attempt>       a note: the attempt has this race in hand
//   attempts/0007/<attempt>.died         the job script saw the task of this attempt die
//   attempts/0007/<attempt>.stopped      the job script was told to stop this attempt
//
// A task removes its note when the race has ended, and when it was told to stop. So a note that
// stays tells of a death that the script witnessed, or of a loss that nobody witnessed: the node
// went down, or the whole job was killed. A race that kills its task twice is to blame. A node that
// goes down is hardly ever the fault of the race that was in hand, so this takes four losses.
#pragma once

#include <compare>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace hgemm::sweep {

/// One start of a task: "<job>.<restart>.<try>". The job is SLURM_ARRAY_JOB_ID, the restart
/// SLURM_RESTART_COUNT, the try a count of the script's. The larger one is the later one.
struct Attempt {
  long job = 0, restart = 0, tries = 0;
  auto operator<=>(const Attempt&) const = default;
};
std::string to_string(const Attempt& attempt);
std::optional<Attempt> find_attempt(std::string_view text);

inline constexpr int kDeathsToSetAside = 2;
inline constexpr int kLossesToSetAside = 4;

/// What the attempts on a race have come to.
struct RaceHistory {
  int deaths = 0;           ///< that a job script witnessed
  int losses = 0;           ///< that nobody witnessed
  bool is_in_hand = false;  ///< of the shard's latest attempt

  bool is_fatal() const { return deaths >= kDeathsToSetAside || losses >= kLossesToSetAside; }
  /// Such a race runs alone: if a task with several GPUs dies then, the race is to blame.
  bool is_suspect() const { return deaths > 0 || losses * 2 >= kLossesToSetAside; }
};

/// The attempts on the races of one shard.
class Attempts {
 public:
  explicit Attempts(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Throws Error if the note cannot be written.
  void begin(const std::string& race, const Attempt& attempt) const;
  void end(const std::string& race, const Attempt& attempt) const;
  /// Forgets what was tried at a race.
  void forget(const std::string& race) const;

  /// By the race's name; races without a note are left out. `own`: an attempt that begins now, so
  /// that all others are over.
  std::map<std::string, RaceHistory> histories(const std::optional<Attempt>& own = {}) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace hgemm::sweep
