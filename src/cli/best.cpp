#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "base/console.h"
#include "base/error.h"
#include "cli/commands.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "output/fields_page.h"
#include "output/replay.h"
#include "output/table.h"
#include "program/aim.h"
#include "program/current.h"
#include "program/help.h"
#include "program/prediction.h"
#include "program/recorded.h"
#include "program/report.h"
#include "program/shapes.h"
#include "program/table_options.h"
#include "results/best.h"

namespace hgemm::cli {
namespace {

struct BestOptions {
  std::string db = kDefaultDatabase;
  bool recorded = false;
  ShapeOptions problems;
  AimOptions aim;
  bool predict = false;
  bool with_libraries = false;
  int max_kernels = 0;
  bool fields = false;
  std::string format = "table";
  TableOptions tables;
};

/// " --pdl safe": also the default.
std::string given(const Allowed& allowed) {
  return fmt::format(" --pdl {}{}", to_string(allowed.pdl),
                     allowed.batch_invariant ? " --batch-invariant" : "");
}

/// The measurements of every config, not only of the winners, in the chosen regimes.
std::vector<Truth> known_truths(const BestOptions& options, const Aim& aim) {
  if (aim.objective == Objective::kEnergy) {
    throw InputError("--objective energy: portfolios go by time only");
  }
  auto known = truths(options.recorded ? recorded_races("truth.db")
                                       : Store::open(options.db, Store::Mode::kReadOnly).races());
  for (Truth& truth : known) {
    std::erase_if(truth.entries, [&](const Truth::Entry& entry) {
      return !allows(aim.allowed, entry.config, truth.problem.kind());
    });
  }
  std::erase_if(known, [&](const Truth& truth) {
    return std::ranges::find(aim.regimes, truth.regime) == aim.regimes.end() ||
           truth.entries.empty() || truth.best() <= 0;
  });
  if (known.empty()) {
    throw Error(fmt::format("no shape was measured to the end in {}{}", in_words(aim.regimes),
                            aim.allowed == Allowed{}
                                ? ""
                                : fmt::format(" by a kernel that{} allows", given(aim.allowed))));
  }
  return known;
}

int run_portfolio(const BestOptions& options, std::vector<Truth> known,
                  std::span<const GemmProblem> problems, const Style& style) {
  keep_problems(known, problems);
  if (known.empty()) throw Error("--max-kernels: none of these shapes was measured to the end");
  fmt::print("{}", format_portfolio(choose_portfolio(known, options.max_kernels), style));
  return 0;
}

/// Says how many recorded shapes no allowed config may answer.
void say_left_out(std::span<const RecordedRace> races, const Allowed& allowed) {
  std::map<std::string, std::set<std::string>> shapes;  // by reason
  for (const RecordedRace& race : races) {
    const GemmProblem& problem = race.race.problem;
    if (const char* reason = why_none_allowed(allowed, problem.kind())) {
      shapes[reason].insert(to_string(problem));
    }
  }
  for (const auto& [reason, of_reason] : shapes) {
    say("{} recorded shapes are left out: {}\n", of_reason.size(), reason);
  }
}

int run_best(const BestOptions& options) {
  TableOptions tables = options.tables;
  tables.only_tables = options.fields || options.predict || options.max_kernels > 0;
  const Style style = style_of(tables, parse_format(options.format));
  if (options.fields) {
    fmt::print("{}", format_fields(style));
    return 0;
  }
  if (!tables.only_tables) check_best_columns(style);
  Aim aim = parse_aim_of_recorded(options.aim);
  std::vector<GemmProblem> problems;
  if (!options.problems.empty()) problems = chosen_problems(options.problems);
  check_allowed(aim.allowed, problems);
  if (aim.allowed.batch_invariant && options.with_libraries) {
    throw InputError(
        "--with-libraries: the bits of a library's result may follow M, so --batch-invariant does "
        "not allow it; leave one of them away");
  }
  if (!options.recorded && !std::filesystem::exists(options.db)) {
    throw InputError(
        fmt::format("there is no database {}; name one with --db, create it by tuning, or ask the "
                    "results that ship with the program with --recorded",
                    options.db));
  }
  if (options.predict) {
    // Few shapes are measured in the other regimes, so predictions there must be asked for.
    if (options.aim.regime.empty()) {
      std::erase_if(aim.regimes, [](Regime regime) { return regime > Regime::kBurst; });
    }
    const auto db = options.recorded ? std::nullopt : std::optional(options.db);
    print_predictions(db, aim, problems, style);
    return 0;
  }
  if (options.max_kernels > 0) {
    return run_portfolio(options, known_truths(options, aim), problems, style);
  }
  RacesAndBuilds results;
  if (options.recorded) {
    results = shipped_results();
  } else {
    const Store store = Store::open(options.db, Store::Mode::kReadOnly);
    results = {store.races(), store.builds()};
  }
  auto& [races, builds] = results;
  const bool has_races = !races.empty();
  if (problems.empty()) say_left_out(races, aim.allowed);
  auto rows = best_for(aim, races, problems, current_among(builds));
  if (has_races && races.empty() && !for_programs(style.format)) {
    const std::string line = fmt::format(
        "Nothing is recorded in {} yet. To measure on a Hopper GPU: hgemm-tune --shapes "
        "llama7b.yaml --regime {}\n",
        in_words(aim.regimes), to_string(aim.regimes.front()));
    fmt::print("{}", joined(std::vector<Piece>{line}, style));
    return 0;
  }
  if (const int missing = without_energy(rows);
      aim.objective == Objective::kEnergy && missing > 0) {
    say("energy was not measured for the best of {} shapes, which is by time; hgemm-tune "
        "--shapes ... --objective energy measures it\n",
        missing);
  }
  const bool unrecorded = std::ranges::any_of(
      rows, [](const BestRow& row) { return row.trials == 0 && !why_no_kernel(row.problem); });
  if (options.with_libraries) name_libraries(rows);
  print_best(std::move(rows), style);
  if (unrecorded) {
    say("of shapes that were never recorded, the same command with --predict says what to "
        "expect\n");
  }
  return 0;
}

}  // namespace

void add_best(CLI::App& program, Command& chosen) {
  const auto options = std::make_shared<BestOptions>();
  CLI::App* command = add_command(program, "best");
  CLI::Option* db = command->add_option("--db", options->db, help_text("common", "--db"))
                        ->type_name("FILE")
                        ->capture_default_str();
  command->add_flag("--recorded", options->recorded, help_text("common", "--recorded"))
      ->excludes(db);
  add_shapes(*command, options->problems);
  add_aim(*command, options->aim, "all that is recorded");
  CLI::Option* predict =
      command->add_flag("--predict", options->predict, help_text("best", "--predict"));
  command
      ->add_flag("--with-libraries", options->with_libraries, help_text("best", "--with-libraries"))
      ->excludes(predict);
  command->add_option("--max-kernels", options->max_kernels, help_text("best", "--max-kernels"))
      ->type_name("K")
      ->check(CLI::Range(1, 1000))
      ->excludes(predict);
  command->add_option("--format", options->format, help_text("common", "--format"))
      ->type_name("FORMAT")
      ->capture_default_str();
  add_table_options(*command, options->tables);
  command->add_flag("--fields", options->fields, help_text("best", "--fields"))->excludes(predict);
  command->callback([&chosen, options] { chosen = [options] { return run_best(*options); }; });
}

}  // namespace hgemm::cli
