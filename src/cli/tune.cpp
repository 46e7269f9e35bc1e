#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "base/console.h"
#include "base/error.h"
#include "cli/commands.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "program/current.h"
#include "program/measure.h"
#include "program/recorded.h"
#include "program/report.h"
#include "program/signals.h"
#include "program/slurm.h"
#include "program/tune_options.h"
#include "results/best.h"

namespace hgemm::cli {
namespace {

/// True if a problem that a kernel can compute has no verified config in one of the regimes.
bool any_unsolved(std::span<const BestRow> rows) {
  return std::ranges::any_of(
      rows, [](const BestRow& row) { return !row.label && !why_no_kernel(row.problem); });
}

/// The options that apply only to a measurement: its database, its time limit, its search. Recorded
/// results were made without them.
std::vector<std::string> options_of_measurements(const TuneOptions& options) {
  std::vector<std::string> given;
  if (options.db) given.push_back(fmt::format("--db {}", *options.db));
  if (options.budget) given.push_back(fmt::format("--budget {}", *options.budget));
  if (options.strategy) given.push_back(fmt::format("--strategy {}", *options.strategy));
  return given;
}

/// A file that is not a database is refused on every machine, whether it is used or not.
void check_content_of_db(const TuneOptions& options) {
  if (options.db && std::filesystem::exists(*options.db)) {
    Store::open(*options.db, Store::Mode::kReadOnly);
  }
}

/// Throws Error if the command asks for something that only a measurement gives.
void check_answerable(const TuneOptions& options, const std::string& why_no_gpu) {
  const auto given = options_of_measurements(options);
  if (given.empty()) return;
  throw Error(fmt::format(
      "no Hopper GPU here ({}), and {} ask{} for a measurement; run the same command on a machine "
      "with one, or add --recorded to see the results that ship with the program",
      why_no_gpu, fmt::join(given, ", "), given.size() == 1 ? "s" : ""));
}

int answer_without_measuring(const TuneOptions& options, const Aim& aim, const TunePlan& plan,
                             const Style& style, const std::string& reason) {
  if (const auto unused = options_of_measurements(options); !unused.empty()) {
    say("recorded results answer: {} changes nothing\n", fmt::join(unused, ", "));
  }
  Question question{.problems = plan.problems,
                    .command = same_command(options, aim),
                    .shapes = options.problems.arguments(),
                    .aim = aim,
                    .energy = plan.weighed != Weighed::kNothing,
                    .configs = std::nullopt,
                    .style = style};
  if (options.is_restricted() && !plan.whole) question.configs = plan.configs;
  answer_from_records(question, reason);
  return 0;
}

void print_pace(const PaceFinding& pace) {
  const auto text = [](const PaceFinding::Value& ratio) {
    return fmt::format("{:.3f} [{:.3f}, {:.3f}]", ratio.value, ratio.interval.low,
                       ratio.interval.high);
  };
  say("pace check: {} at {} is {} x cuBLAS alone and {} beside {} busy GPU{}: {}\n", pace.label,
      to_string(pace.problem), text(pace.alone), text(pace.beside), pace.neighbours,
      pace.neighbours == 1 ? "" : "s",
      pace.moved() ? "finals took turns" : "finals ran side by side");
}

/// Prints the database's results for the plan's problems, and the results that are missing.
int print_outcome(const TunePlan& plan, const TuneOutcome& outcome, const std::string& db,
                  const std::vector<BestRow>& rows, const Style& style) {
  int recorded = 0;
  for (const BestRow& row : rows) recorded += row.trials;
  say("measured {} trials; {} holds {} of these shapes\n", outcome.recorded, db, recorded);
  if (outcome.pace) print_pace(*outcome.pace);
  if (const int missing = without_energy(rows); plan.weighed != Weighed::kNothing && missing > 0) {
    say("energy is not known for {} of {} shapes\n", missing, plan.problems.size());
  }
  print_best(rows, style);
  if (!outcome.late_problems.empty()) {
    say("the time was over before {} of {} races began ({}); the same command goes on with "
        "them, or give it a larger --budget\n",
        outcome.late_problems.size(), plan.problems.size() * plan.regimes.size(),
        fmt::join(outcome.late_problems, ", "));
  }
  if (!outcome.skipped_problems.empty()) {
    throw InputError(
        fmt::format("{} of {} shapes do not fit this GPU and were skipped ({}); the others are "
                    "recorded in {}",
                    outcome.skipped_problems.size(), plan.problems.size(),
                    fmt::join(outcome.skipped_problems, ", "), db));
  }
  if (!outcome.set_aside_problems.empty()) {
    throw Error(
        fmt::format("two GPUs gave up the races of {}; what they measured is recorded in {}",
                    fmt::join(outcome.set_aside_problems, ", "), db));
  }
  return any_unsolved(rows) ? 1 : 0;
}

int run_tune(const TuneOptions& options, const std::string& command_line, const Backend& backend) {
  const auto start = std::chrono::steady_clock::now();
  const Style style = style_of(options.tables, parse_format(options.format));
  check_best_columns(style);
  const Aim aim = parse_aim(options.aim, {Regime::kSustained});
  if (options.energy) check_energy(aim, "--energy");
  TunePlan plan = plan_of(options, aim, command_line, start);
  // A default location matters only if something is written there.
  if (options.db) check_db(*options.db);
  check_cache(options.cache);

  if (options.recorded) {
    check_content_of_db(options);
    return answer_without_measuring(options, aim, plan, style,
                                    "Nothing is measured now, as asked for.");
  }

  StopSignals stop;
  std::vector<std::unique_ptr<Measurer>> gpus;
  try {
    gpus = backend.open_gpus(request_of(options, plan));
    gpus.front()->machine();
  } catch (const NoDevice& reason) {
    if (options.require_gpu) throw;
    check_content_of_db(options);
    check_answerable(options, reason.what());
    return answer_without_measuring(
        options, aim, plan, style,
        fmt::format("No Hopper GPU here ({}): nothing is measured now.", reason.what()));
  }

  Measured measured = measure(options, plan, gpus, backend, stop);
  if (measured.stopped_by) return 128 + *measured.stopped_by;
  const auto rows = best_for(aim, measured.races, plan.problems, current_among(measured.builds));
  print_failures(measured.races, plan.problems);
  return print_outcome(plan, measured.outcome, measured.db, rows, style);
}

}  // namespace

void add_tune(CLI::App& program, Command& chosen, const std::string& command_line,
              const Backend& backend) {
  const auto options = std::make_shared<TuneOptions>();
  const auto slurm = std::make_shared<SlurmOptions>();
  add_tune_options(program, *options);
  add_slurm_options(program, *slurm);
  program.callback([&program, &chosen, options, slurm, command_line, backend] {
    if (program.get_subcommands().empty()) {
      chosen = [options, slurm, command_line, backend] {
        if (slurm->is_chosen()) return run_on_slurm(*options, *slurm, command_line);
        return run_tune(*options, command_line, backend);
      };
      return;
    }
    for (const CLI::Option* option : program.get_options()) {
      if (option->count() == 0) continue;
      throw InputError(fmt::format("{0} stands before the command: write hgemm-tune {1} {0} ...",
                                   option->get_name(),
                                   program.get_subcommands().front()->get_name()));
    }
  });
}

}  // namespace hgemm::cli
