#include "sweep/slurm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace hgemm::sweep {
namespace {

/// Slurm's own commands give up after some 100 s without an answer (MessageTimeout and retries).
constexpr std::chrono::seconds kLimit{180};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

[[noreturn]] void not_understood(const char* command, std::string_view text) {
  throw Error(fmt::format("{} printed what this program does not understand: {}", command,
                          in_quotes(text.substr(0, 200))));
}

int small_number(std::string_view text, const char* command, std::string_view line) {
  const auto number = find_number(text);
  if (!number || *number > std::numeric_limits<int>::max()) not_understood(command, line);
  return static_cast<int>(*number);
}

/// What Slurm says, and what to do about it.
struct Known {
  std::string_view said, advice;
};
constexpr std::array kKnown = {
    Known{"invalid partition", "name one with --partition; sinfo lists them"},
    Known{"Invalid job array specification",
          "the array is larger than this cluster allows; use larger shards (--shard-minutes)"},
    Known{"Invalid account", "name yours by --sbatch-option \"--account=...\""},
    Known{"Requested time limit is invalid", "give a --time that the partition allows"},
    Known{"time limit", "give a --time that the partition allows"},
    Known{"Requested node configuration is not available",
          "no node of the partition has so many GPUs; check --gpus-per-node, or name their kind by "
          "--sbatch-option"},
    Known{"Invalid generic resource",
          "the partition has no GPUs that Slurm knows of; name them by --sbatch-option"},
    Known{"Unable to contact slurm controller",
          "the controller does not answer; what runs goes on. Try again later"},
    Known{"Connection refused",
          "the controller does not answer; what runs goes on. Try again later"},
    Known{"Socket timed out",
          "the controller is too busy to answer. The request may have come through: look with "
          "squeue --me before you try again"},
    Known{"Access/permission denied",
          "these jobs are another user's, or the account is not allowed"},
    Known{"QOSMax", "the account's limit is reached; wait, or use larger shards (--shard-minutes)"},
    Known{"violates accounting/QOS policy",
          "the account's limit is reached; wait, or use larger shards (--shard-minutes)"},
    Known{"unrecognized option", "check what was given by --sbatch-option"},
    Known{"invalid option", "check what was given by --sbatch-option"},
};

bool contains(std::string_view text, std::string_view part) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return !std::ranges::search(text, part, {}, lower, lower).empty();
}

CommandResult run_really(std::vector<std::string> command) {
  return run_command(std::move(command), ErrorStream::kCaptured, kLimit);
}

}  // namespace

ArrayLimits parse_limits(std::string_view text) {
  ArrayLimits limits{-1, std::numeric_limits<int>::max()};
  for (const std::string_view line : split(text, '\n')) {
    const auto equals = line.find('=');
    if (equals == line.npos) continue;
    const std::string_view name = trimmed(line.substr(0, equals));
    const std::string_view value = trimmed(line.substr(equals + 1));
    if (name == "MaxArraySize") {
      // The highest index is one less (slurm.conf(5)).
      limits.highest_index = small_number(value, "scontrol show config", line) - 1;
    } else if (name == "SchedulerParameters") {
      constexpr std::string_view kMost = "max_array_tasks=";
      for (const std::string_view parameter : split(value, ',')) {
        if (!parameter.starts_with(kMost)) continue;
        limits.most_tasks =
            small_number(parameter.substr(kMost.size()), "scontrol show config", line);
      }
    }
  }
  if (limits.highest_index < -1 || limits.most_tasks < 0) not_understood("scontrol", text);
  if (limits.highest_index == -1 && !contains(text, "MaxArraySize")) {
    not_understood("scontrol show config", text);
  }
  if (limits.shards() < 1) {
    throw Error("this cluster allows no job arrays (MaxArraySize in slurm.conf); ask its admin");
  }
  return limits;
}

std::string parse_job_id(std::string_view text) {
  std::string_view id = trimmed(text);
  id = id.substr(0, id.find(';'));  // then the name of the cluster
  if (!find_number(id)) not_understood("sbatch", text);
  return std::string(id);
}

std::vector<QueuedTask> parse_queue(std::string_view text) {
  std::vector<QueuedTask> tasks;
  for (const std::string_view line : split(text, '\n')) {
    if (trimmed(line).empty()) continue;
    const auto fields = split(line, '|');
    if (fields.size() != 4 || !find_number(fields[0]) || fields[2].empty()) {
      not_understood("squeue", line);
    }
    QueuedTask task{std::string(fields[0]), std::nullopt, std::string(fields[2]),
                    std::string(fields[3])};
    if (fields[1] != "N/A") task.index = small_number(fields[1], "squeue", line);
    tasks.push_back(std::move(task));
  }
  return tasks;
}

std::string index_list(const std::set<int>& indices) {
  std::string list;
  for (auto index = indices.begin(); index != indices.end();) {
    const int first = *index;
    int last = first;
    while (++index != indices.end() && *index == last + 1) last = *index;
    if (!list.empty()) list += ',';
    list += last == first ? fmt::to_string(first) : fmt::format("{}-{}", first, last);
  }
  return list;
}

std::string explain(const std::string& what, std::string_view err) {
  for (const Known& known : kKnown) {
    if (contains(err, known.said)) {
      return fmt::format("{}: {}; {}", what, one_line(trimmed(err)), known.advice);
    }
  }
  return fmt::format("{}: {}", what, err.empty() ? "it does not say why" : one_line(trimmed(err)));
}

bool is_held(const QueuedTask& task) {
  return task.state == "PENDING" && contains(task.reason, "requeued held");
}

Slurm::Slurm(Run run) : run_(run ? std::move(run) : run_really) {}

std::string Slurm::run(const std::vector<std::string>& command) const {
  CommandResult result;
  try {
    result = run_(command);
  } catch (const ProgramMissing&) {
    throw Error(
        fmt::format("there is no {} on PATH; run this where jobs are submitted, on a login node of "
                    "the cluster, or load the module that has Slurm's commands",
                    command.front()));
  }
  if (!result.exit_code) {
    throw Error(fmt::format("{} did not answer within {} s; try again later", command.front(),
                            kLimit.count()));
  }
  if (*result.exit_code != 0) throw Error(explain(command.front(), result.err));
  return result.out;
}

ArrayLimits Slurm::limits() const { return parse_limits(run({"scontrol", "show", "config"})); }

std::string Slurm::submit(const std::vector<std::string>& command) const {
  return parse_job_id(run(command));
}

std::vector<QueuedTask> Slurm::queue(std::span<const std::string> jobs) const {
  if (jobs.empty()) return {};
  try {
    return parse_queue(run({"squeue", "--noheader", "--array", "--format=%F|%K|%T|%r",
                            fmt::format("--jobs={}", fmt::join(jobs, ","))}));
  } catch (const Error& error) {
    // All of them have ended, and Slurm forgot them (MinJobAge).
    if (contains(error.what(), "Invalid job id specified")) return {};
    throw;
  }
}

void Slurm::cancel(std::span<const std::string> jobs) const {
  if (jobs.empty()) return;
  std::vector<std::string> command{"scancel"};
  command.insert(command.end(), jobs.begin(), jobs.end());
  try {
    run(command);
  } catch (const Error& error) {
    if (!contains(error.what(), "Invalid job id specified")) throw;
  }
}

bool Slurm::release(const QueuedTask& task) const {
  const std::string id = task.index ? fmt::format("{}_{}", task.job, *task.index) : task.job;
  try {
    run({"scontrol", "release", id});
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace hgemm::sweep
