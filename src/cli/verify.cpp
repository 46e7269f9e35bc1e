#include "tune/verify.h"
#include "base/console.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "gemm/codec.h"
#include "output/table.h"
#include "program/aim.h"
#include "program/cache.h"
#include "program/current.h"
#include "program/database.h"
#include "program/help.h"
#include "program/progress.h"
#include "program/seed.h"
#include "program/shapes.h"
#include "program/signals.h"
#include "program/table_options.h"
#include "worker/remote.h"

namespace hgemm::cli {
namespace {

using Winner = VerifyPlan::Winner;

struct VerifyOptions {
  std::string db = kDefaultDatabase;
  ShapeOptions problems;
  AimOptions aim;
  int draws = 3;
  std::optional<std::uint64_t> seed;
  CacheOptions cache;
  TableOptions tables;
};

std::vector<std::uint64_t> draw_seeds(std::uint64_t seed, int draws) {
  std::mt19937_64 random(seed);  // never `seed` itself, which may be the seed of the tune
  std::vector<std::uint64_t> seeds;
  for (int i = 0; i < draws; ++i) seeds.push_back(random());
  return seeds;
}

/// The winners that were recorded in the environment `here`. Throws InputError if there are none;
/// the message names the environment of the database if it is another.
std::vector<Winner> stored_winners(const Store& store, const Environment& here, const Aim& aim,
                                   std::span<const GemmProblem> problems) {
  auto races = store.races(here);
  std::vector<Winner> winners;
  std::vector<std::string> without;
  for (const BestRow& row : best_for(aim, races, problems, current_among(store.builds()))) {
    if (row.label) {
      winners.push_back({row.problem, row.regime, *row.label});
    } else {
      without.push_back(to_string(row.problem));
    }
  }
  if (!winners.empty()) {
    if (!without.empty()) say("no winner here: {}\n", fmt::join(without, ", "));
    return winners;
  }

  const auto environments = store.environments();
  const std::string what =
      fmt::format("{} has no winner{}{} for this GPU, driver and toolkit", store.path(),
                  problems.empty() ? "" : " of these shapes",
                  aim.regimes.size() == 1 ? " in " + in_words(aim.regimes) : "");
  if (environments.empty() || environments.back() == here) {
    throw InputError(what + "; tune first");
  }
  throw InputError(fmt::format("{}: it is from {} (there -> here: {}); tune here first", what,
                               in_words(environments.back()),
                               fmt::join(differences(environments.back(), here), ", ")));
}

/// NVRTC, shown in `progress`.
Compiler compile_with(Progress& progress) {
  Compiler compiler = nvrtc_compiler();
  compiler.compile_all = [&progress](auto kernels, const CompileOptions& options,
                                     const auto& done) {
    TuneListener::Compiling counts{.total = static_cast<int>(kernels.size())};
    compile_all(kernels, options, [&](Build build) {
      ++counts.done;
      if (build.from_cache) ++counts.from_cache;
      if (build.status != Status::kOk) ++counts.failed;
      progress.compiling(counts);
      done(std::move(build));
    });
  };
  return compiler;
}

std::string error_text(const Verdict& worst) {
  if (worst.tolerance == 0) return "-";  // there was no result
  return fmt::format("{:.2g} of {:.2g}", worst.error, worst.tolerance);
}

/// Prints a line for each winner as soon as its check has ended, and counts the outcomes.
class Report {
 public:
  Report(int draws, Style style) : draws_(draws), style_(std::move(style)) {}

  void add(const Recheck& check) {
    const auto& [winner, seed, outcome] = check;
    const std::string problem = to_string(winner.problem);
    const std::string_view regime = to_string(winner.regime);
    State& state = states_[fmt::format("{} {} {}", problem, regime, winner.label)];
    ++state.draws;
    // A NaN counts as the largest error.
    if (!(outcome.verdict.error <= state.worst.error)) state.worst = outcome.verdict;
    if (state.worst.tolerance == 0) state.worst = outcome.verdict;
    const bool is_ok = outcome.status == Status::kOk;
    if (is_ok && state.draws < draws_) return;
    ++(is_ok ? ok : failed);
    // One line if the output has no width limit; otherwise as many lines as needed.
    const bool wide = !style_.width || style_.all_columns;
    const std::string subject =
        wide ? fmt::format("{:<20} {:<9} {:<62}", problem, regime, winner.label)
             : fmt::format("{} {} {}", problem, regime, winner.label);
    const std::string line = fmt::format(
        "{} draw {}/{}  error {}  {}\n", subject, state.draws, draws_, error_text(state.worst),
        is_ok ? "ok"
              : fmt::format("{}: {}", to_string(outcome.status),
                            outcome.message.substr(0, outcome.message.find('\n'))));
    fmt::print("{}", wide ? printable(line) : joined(std::vector<Piece>{line}, style_));
    std::fflush(stdout);
  }

  int ok = 0, failed = 0;

 private:
  struct State {
    int draws = 0;
    Verdict worst;
  };
  int draws_;
  Style style_;
  std::map<std::string, State> states_;
};

/// Turns NoDevice into an Error that says why a GPU is needed.
Environment environment_of(Measurer& measurer) {
  try {
    return measurer.machine().environment;
  } catch (const NoDevice& reason) {
    throw Error(
        fmt::format("verify runs the recorded winners again, on a Hopper GPU: {}", reason.what()));
  }
}

int run_verify(const VerifyOptions& options, const std::string& command_line) {
  const Aim aim = parse_aim_of_recorded(options.aim);
  const Style style = style_of(options.tables, Format::kTable);
  std::vector<GemmProblem> problems;
  if (!options.problems.empty()) problems = chosen_problems(options.problems);
  require_database(options.db);
  Store::open(options.db, Store::Mode::kReadOnly);  // refuses a bad database without a GPU, too
  check_cache(options.cache);
  const std::uint64_t seed = options.seed ? *options.seed : std::random_device()();

  StopSignals stop;
  RemoteMeasurer measurer;
  const Environment here = environment_of(measurer);
  Store store = Store::open(options.db, Store::Mode::kReadWrite);
  VerifyPlan plan;
  plan.winners = stored_winners(store, here, aim, problems);
  plan.seeds = draw_seeds(seed, options.draws);
  use_cache(options.cache, plan.compile);
  plan.command_line = command_line;
  // The seed is kept, so that a wrong result can be reproduced.
  if (!options.seed) plan.command_line += fmt::format(" --seed {}", seed);

  Report report(options.draws, style);
  {
    Progress progress(stderr, 1, true);
    verify(
        plan, measurer, store, compile_with(progress),
        [&report](const Recheck& check) { report.add(check); },
        [&progress](const std::string& text) { progress.warning(text); },
        [&stop] { return stop.received().has_value(); });
  }
  if (const auto signal = stop.received()) {
    say("stopped; {} of {} winners were checked, {} failed\n", report.ok + report.failed,
        plan.winners.size(), report.failed);
    return 128 + *signal;
  }
  if (report.failed > 0) {
    throw Error(fmt::format(
        "{} of {} winners failed on draws of --seed {}; that is recorded in {}, and best answers "
        "with others from now on",
        report.failed, plan.winners.size(), seed, options.db));
  }
  const auto unchecked = plan.winners.size() - static_cast<std::size_t>(report.ok);
  if (unchecked > 0) {
    throw Error(fmt::format("{} of {} winners were not checked: see the warnings", unchecked,
                            plan.winners.size()));
  }
  say("{} winners of {} are correct on {} fresh draws (--seed {})\n", report.ok, options.db,
      options.draws, seed);
  return 0;
}

}  // namespace

void add_verify(CLI::App& program, Command& chosen, const std::string& command_line) {
  const auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = add_command(program, "verify");
  command->add_option("--db", options->db, help_text("verify", "--db"))
      ->type_name("FILE")
      ->capture_default_str();
  add_shapes(*command, options->problems);
  add_aim(*command, options->aim, "all that is recorded");
  command->add_option("--draws", options->draws, help_text("verify", "--draws"))
      ->type_name("N")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  add_seed(*command, options->seed, help_text("verify", "--seed"));
  add_cache(*command, options->cache);
  command->add_flag("--wide", options->tables.wide, help_text("common", "--wide"));
  command->callback([&chosen, options, command_line] {
    chosen = [options, command_line] { return run_verify(*options, command_line); };
  });
}

}  // namespace hgemm::cli
