#include "sweep/scripts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace hgemm::sweep {
namespace fs = std::filesystem;
namespace {

// Seconds before the time limit at which the task is told to stop: Slurm may be 60 s late
// (sbatch(1), --signal), and a step of a race takes seconds.
constexpr int kWarningS = 90;

constexpr std::string_view kJob = R"re(
# One task of the array tunes one shard: the shapes in shards/<number>.yaml. It works on a local
# disk and publishes each race to results/ when the race has ended, so a task that is preempted,
# killed or lost costs the race in hand. Started again, it goes on with what is missing.
#
# What `slurm task` exits with:
#   0   the shard is done; races that were set aside are named in set-aside/
#   2   something is wrong with the run folder or the options; trying again would not help
#   75  it was told to stop
#   76  it was told to stop before it had finished any race
#   any other: it failed, or died. If it had a race in hand, that counts against the race. A race
#   that does this twice is set aside.

set -u
run='@RUN@'
program='@PROGRAM@'
shard=$SLURM_ARRAY_TASK_ID
restart=${SLURM_RESTART_COUNT:-0}
notes=$run/attempts/$(printf %04d "$shard")

TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/hgemm-sweep.XXXXXX") || exit 1
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

attempt=$SLURM_ARRAY_JOB_ID.$restart.0
task=
told=
signals=0
# Slurm sends TERM when it preempts or cancels the job or takes the node away, and USR2 before the
# time limit. The mark says that the task did not die of its race.
stop() {
  ((++signals))
  [[ -n $told ]] || told=$1
  : >"$notes/$attempt.stopped"
  [[ -z $task ]] || kill -TERM "$task" 2>/dev/null
}
trap 'stop TERM' TERM
trap 'stop USR2' USR2

# wait returns early at a signal; the next one tells the task's own code.
await() {
  local before
  while :; do
    before=$signals
    wait "$1"
    code=$?
    ((signals == before)) && return
  done
}

failures=0
try=0
while [[ -z $told ]]; do
  attempt=$SLURM_ARRAY_JOB_ID.$restart.$try
  "$program" slurm task "$run" "$shard" --attempt "$attempt" &
  task=$!
  await "$task"
  task=
  case $code in
    0 | 2) exit "$code" ;;
  esac
  [[ -z $told ]] || break
  ((++try))
  if compgen -G "$notes/*@$attempt" >/dev/null; then
    echo "the task died ($code) with a race in hand; it is started again" >&2
    echo "$code" >"$notes/$attempt.died"
    failures=0
  elif ((++failures < 3)); then
    echo "the task failed ($code) without a race in hand; it is started again" >&2
    # A node on which nothing works must not eat the whole array in a moment.
    if ((failures == 2)); then
      sleep 30 &
      await $!
    fi
  else
    exit "$code"
  fi
done

if [[ $told == USR2 ]]; then
  if ((code == 76)); then
    : >"$notes/$attempt.nothing"
    if (($(compgen -G "$notes/*.nothing" | wc -l) >= 3)); then
      rm -f "$notes"/*.nothing
      echo "no race was finished in three starts: --time is too short for one race" >&2
      exit 1
    fi
  else
    rm -f "$notes"/*.nothing
  fi
  echo "the time limit is near: requeued" >&2
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
fi
exit 143
)re";

constexpr std::string_view kCompile = R"re(
# One task of the array compiles the kernels of one shard into the cache, on a node without a GPU.
# The racing task of the shard starts when this one has ended with 0 (aftercorr), so it always does:
# what was not compiled here is compiled there.

'@PROGRAM@' slurm compile '@RUN@' "$SLURM_ARRAY_TASK_ID" ||
  echo "not all kernels are compiled; the racing task compiles the rest" >&2
exit 0
)re";

constexpr std::string_view kMerge = R"re(
# Merges results/ into table.db, and prints the best kernels. It may run at any time, and again.

'@PROGRAM@' slurm merge '@RUN@'
)re";

/// Characters that neither the shell in single quotes, nor sbatch's own reading of #SBATCH lines
/// (%, quotes, backslashes), takes for something else.
bool is_plain(const std::string& path) {
  return std::ranges::all_of(path, [](char c) {
    return is_letter_or_digit(c) ||
           std::string_view("/._-+,:=@~ ").find(c) != std::string_view::npos;
  });
}

std::string filled(std::string_view text, const fs::path& run, const fs::path& program) {
  std::string out(text);
  for (const auto& [name, value] : {std::pair<std::string_view, std::string>("@RUN@", run.string()),
                                    {"@PROGRAM@", program.string()}}) {
    for (auto at = out.find(name); at != out.npos; at = out.find(name, at + value.size())) {
      out.replace(at, name.size(), value);
    }
  }
  return out;
}

/// The head of a script, without what only the racing job needs.
std::string head_of(const JobOptions& options, const fs::path& run, const std::string& partition,
                    const char* kind, const char* log) {
  std::string text = fmt::format(
      "#!/bin/bash\n"
      "# Written by hgemm-tune. {0} is the folder of the run.\n"
      "#SBATCH --job-name=hgemm-{1}\n"
      "#SBATCH --output=\"{0}/logs/{2}\"\n"
      "#SBATCH --open-mode=append\n"
      "#SBATCH --requeue\n"
      "#SBATCH --nodes=1\n"
      "#SBATCH --ntasks=1\n",
      run.string(), kind, log);
  if (!partition.empty()) text += fmt::format("#SBATCH --partition={}\n", partition);
  if (!options.time.empty()) text += fmt::format("#SBATCH --time={}\n", options.time);
  return text;
}

std::string user_options(const JobOptions& options) {
  std::string text;
  for (const std::string& option : options.sbatch) text += fmt::format("#SBATCH {}\n", option);
  return text;
}

}  // namespace

void check_scriptable(const JobOptions& options, const fs::path& run, const fs::path& program) {
  for (const fs::path& path : {run, program}) {
    if (is_plain(path.string())) continue;
    throw InputError(
        fmt::format("{}: the path has characters that a job script cannot hold; use letters, "
                    "digits, blanks and . _ - + , : = @ ~",
                    path.string()));
  }
  for (const auto& [name, value] : {std::pair("--partition", options.partition),
                                    {"--compile-partition", options.compile_partition},
                                    {"--time", options.time}}) {
    if (is_plain(value) && value.find(' ') == value.npos) continue;
    throw InputError(fmt::format("{} {}: not a word that sbatch could take", name, value));
  }
  for (const std::string& option : options.sbatch) {
    if (option.starts_with('-') && is_one_line(option)) continue;
    throw InputError(fmt::format(
        "--sbatch-option {}: expected one option of sbatch, like \"--account=lab\"", option));
  }
}

std::map<std::string, std::string> scripts(const JobOptions& options, const fs::path& run,
                                           const fs::path& program) {
  std::map<std::string, std::string> texts;
  texts["job.sh"] = head_of(options, run, options.partition, "race", "race-%A_%a.log") +
                    fmt::format(
                        "#SBATCH --gpus-per-node={}\n"
                        "#SBATCH --signal=B:USR2@{}\n",
                        options.gpus_per_node, kWarningS) +
                    user_options(options) + filled(kJob, run, program);
  const std::string& without_gpu =
      options.compile_partition.empty() ? options.partition : options.compile_partition;
  texts["merge.sh"] = head_of(options, run, without_gpu, "merge", "merge-%j.log") +
                      user_options(options) + filled(kMerge, run, program);
  if (!options.compile_partition.empty()) {
    texts["compile.sh"] =
        head_of(options, run, options.compile_partition, "compile", "compile-%A_%a.log") +
        user_options(options) + filled(kCompile, run, program);
  }
  return texts;
}

std::vector<std::string> submit_array(const fs::path& script, const std::string& array, int limit,
                                      const std::string& dependency) {
  std::vector<std::string> command{"sbatch", "--parsable"};
  command.push_back(limit > 0 ? fmt::format("--array={}%{}", array, limit)
                              : fmt::format("--array={}", array));
  if (!dependency.empty()) command.push_back("--dependency=" + dependency);
  command.push_back(script.string());
  return command;
}

std::vector<std::string> submit_job(const fs::path& script, const std::string& dependency) {
  return {"sbatch", "--parsable", "--dependency=" + dependency, script.string()};
}

}  // namespace hgemm::sweep
