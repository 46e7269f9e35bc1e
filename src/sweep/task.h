// One task of a sweep: tunes the races of a shard that are still to be measured, and publishes each
// one when it has ended.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sweep/folder.h"
#include "tune/tune.h"

namespace hgemm::sweep {

struct TaskTools {
  std::span<Measurer* const> gpus;
  const Compiler& compiler;
  TuneListener& listener;
  std::function<bool()> stop;
  std::filesystem::path local;  ///< a folder on this node's own disk
};

struct TaskOutcome {
  int published = 0;                   ///< races, by this attempt
  bool stopped = false;                ///< before the shard was done
  std::vector<std::string> set_aside;  ///< races that this attempt set aside
};

/// Works on a shard. `plan` is the tune of all its problems; a deadline in it is replaced by the
/// shard's part of the sweep's budget, less the part of the races that are done.
///
/// A race is published when it has ended, as a whole: what a stopped task measured of the race in
/// hand is lost with its local database, and the race begins anew on whatever card comes next. So
/// every ratio stays within one race on one card.
///
/// Races whose attempts look suspicious (sweep/attempts.h) come last, each alone on one GPU.
/// Throws what tune() throws; then the notes of the races in hand stay, as evidence. Throws Error
/// if a result cannot be published, for which no race is to blame: then no note stays.
TaskOutcome run_task(const RunFolder& run, const Shard& shard, const Attempt& attempt,
                     const TunePlan& plan, const TaskTools& tools);

/// Copies a published file to `local` and reads it there, so that SQLite never meets the shared
/// file system. Throws InputError if it is damaged.
Store::Added add_published(const Published& race, Store& to, const std::filesystem::path& local);

/// What is merged into a database.
struct Merged {
  int files = 0;
  int races = 0;  ///< that the database did not have
  std::vector<std::string> warnings;
};
/// Adds all published races to a database, in any state and as often as one likes. Files that
/// cannot be read are put away, with a warning. `advanced` is called after each file.
Merged merge_published(const RunFolder& run, Store& to, const std::filesystem::path& local,
                       const std::function<void()>& advanced = {});

}  // namespace hgemm::sweep
