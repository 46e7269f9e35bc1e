#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>

#include "base/console.h"
#include "base/error.h"
#include "cli/commands.h"
#include "output/contest.h"
#include "program/current.h"
#include "program/database.h"
#include "program/help.h"
#include "program/measure.h"
#include "program/peers.h"
#include "program/tune_options.h"

namespace hgemm::cli {
namespace {

/// Best rows of the races that the peers took part in.
std::vector<BestRow> contest_rows(const Aim& aim, std::vector<RecordedRace> races,
                                  std::span<const GemmProblem> problems,
                                  const IsCurrent& is_current) {
  keep_allowed(races, aim.allowed);
  keep_races_with_peers(races);
  return best_for(aim, races, problems, is_current);
}

/// Prints who beat whom in these races. Returns the rows of the aim.
std::vector<BestRow> print_contest(const Aim& aim, const std::vector<RecordedRace>& races,
                                   std::span<const GemmProblem> problems,
                                   const IsCurrent& is_current, const Style& style) {
  Aim without_pdl = aim;
  without_pdl.allowed.pdl = PdlKind::kOff;
  const auto rows = contest_rows(aim, races, problems, is_current);
  const auto rows_off = contest_rows(without_pdl, races, problems, is_current);
  const bool has_pdl = aim.allowed.pdl != PdlKind::kOff;
  fmt::print("{}",
             format_contest(contest_of(has_pdl ? rows : std::vector<BestRow>{}, rows_off), style));
  return rows;
}

/// Verdicts of a database. Its kernels are those of the program that recorded it.
int print_recorded(const TuneOptions& options, const Aim& aim, const Style& style) {
  if (!options.db) throw InputError("race --recorded: name the database with --db");
  require_database(*options.db);
  const Store store = Store::open(*options.db, Store::Mode::kReadOnly);
  std::vector<GemmProblem> problems;
  if (!options.problems.empty()) problems = chosen_problems(options.problems);
  print_contest(aim, store.races(), problems, {}, style);
  return 0;
}

/// Says at how many problems the time was over before the winner met the peers.
void tell_unmet(const TunePlan& plan, std::span<const BestRow> rows) {
  for (const Peer& peer : plan.peers) {
    const auto unmet = std::ranges::count_if(rows, [&](const BestRow& row) {
      return row.label &&
             std::ranges::find(row.peers, peer.name, &PeerResult::name) == row.peers.end();
    });
    if (unmet == 0) continue;
    say("{} was not raced at {} of {} shapes; the same command goes on with them, or give it a "
        "larger --budget\n",
        peer.name, unmet, rows.size());
  }
}

int run_race(const TuneOptions& options, const std::string& command_line, const Backend& backend) {
  const auto start = std::chrono::steady_clock::now();
  const Style style = style_of(options.tables, parse_format(options.format));
  check_contest_columns(style);
  const Aim aim = parse_aim(options.aim, {Regime::kSustained});
  if (options.recorded) return print_recorded(options, parse_aim_of_recorded(options.aim), style);
  TunePlan plan = plan_of(options, aim, command_line, start);
  check_db(options.db.value_or(kDefaultDatabase));
  check_cache(options.cache);
  StopSignals stop;
  const auto gpus = backend.open_gpus(request_of(options, plan));
  const Measured measured = measure(options, plan, gpus, backend, stop);
  if (measured.stopped_by) return 128 + *measured.stopped_by;
  const IsCurrent is_current = current_among(measured.builds);
  print_failures(measured.races, plan.problems);
  tell_unmet(plan, print_contest(aim, measured.races, plan.problems, is_current, style));
  return 0;
}

}  // namespace

void add_race(CLI::App& program, Command& chosen, const std::string& command_line,
              const Backend& backend) {
  const auto options = std::make_shared<TuneOptions>();
  CLI::App* command = add_command(program, "race");
  command->add_option("--peer", options->peers, help_text("race", "--peer"))
      ->type_name("[NAME=]FILE.so[:OPTIONS]");
  add_tune_options(*command, *options);
  command->get_option("--recorded")->description(help_text("race", "--recorded"));
  command->callback([&chosen, options, command_line, backend] {
    chosen = [options, command_line, backend] { return run_race(*options, command_line, backend); };
  });
}

}  // namespace hgemm::cli
