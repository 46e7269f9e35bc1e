// What the job scripts of a sweep run on the nodes.
#pragma once

#include <string>

#include "program/backend.h"
#include "sweep/folder.h"

namespace hgemm::cli {

// Exit codes that job.sh knows, besides 0 and 2.
inline constexpr int kToldToStop = 75;
inline constexpr int kToldToStopTooEarly = 76;  ///< no race was finished

/// Tunes what is missing of a shard. `attempt` is the job script's.
int run_shard(const sweep::RunFolder& run, int shard, const std::string& attempt,
              const Backend& backend);

/// Compiles the kernels of a shard into the cache: --shared-cache if there is one, which this user
/// then fills, else --cache-dir.
int compile_shard(const sweep::RunFolder& run, int shard, const Backend& backend);

/// Merges what is published into table.db, and prints the best kernels.
int merge_run(const sweep::RunFolder& run);

}  // namespace hgemm::cli
