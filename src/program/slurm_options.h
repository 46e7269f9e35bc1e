// --executor slurm and the options that come with it.
#pragma once

#include <string>

#include "sweep/scripts.h"

namespace CLI {
class App;
}

namespace hgemm::cli {

struct SlurmOptions {
  std::string executor = "local";
  sweep::JobOptions jobs;
  int array_limit = 0;  ///< 0: none
  std::string run;      ///< empty: named after the shapes and the time
  double shard_minutes = 15;
  bool no_follow = false;
  bool dry_run = false;
  const CLI::App* program = nullptr;  ///< has the options as they were given

  /// Throws InputError if there is no such executor.
  bool is_chosen() const;
};

void add_slurm_options(CLI::App& program, SlurmOptions& options);

}  // namespace hgemm::cli
