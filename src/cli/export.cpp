#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/console.h"
#include "base/error.h"
#include "base/revision.h"
#include "base/text.h"
#include "cli/commands.h"
#include "compile/compiler.h"
#include "gemm/codec.h"
#include "output/export/export.h"
#include "program/aim.h"
#include "program/current.h"
#include "program/help.h"
#include "program/recorded.h"
#include "program/shapes.h"

namespace hgemm::cli {
namespace {

struct ExportOptions {
  std::string db = kDefaultDatabase;
  bool recorded = false;
  ShapeOptions problems;
  std::string regime = "sustained";
  std::string format;
  std::string output;
  std::string pdl = std::string(to_string(kDefaultPdl));
  int max_kernels = 0;
  bool with_cublaslt = false;
};

/// The races of whole spaces, with those of `shipped` of the same problems. As in `best`, few
/// kernels for many problems are chosen from all configs, not from the winners alone. A config that
/// left the race of a whole space early may have been measured to the end in another race of the
/// problem. Problems with only such other races go to `others`.
std::vector<RecordedRace> races_of_whole_spaces(std::vector<RecordedRace> shipped,
                                                std::vector<GemmProblem>& others, Regime regime) {
  std::vector<RecordedRace> races = recorded_races("truth.db");
  const std::size_t whole = races.size();
  for (RecordedRace& race : shipped) {
    const auto same = [&race](const RecordedRace& other) {
      return other.race.problem.same_problem(race.race.problem);
    };
    if (std::any_of(races.begin(), races.begin() + static_cast<std::ptrdiff_t>(whole), same)) {
      races.push_back(std::move(race));
    } else if (race.race.regime == regime &&
               std::ranges::none_of(others, [&race](const GemmProblem& other) {
                 return other.same_problem(race.race.problem);
               })) {
      others.push_back(race.race.problem);
    }
  }
  return races;
}

ExportPlan plan_of_few_recorded(const ExportAim& aim) {
  std::vector<GemmProblem> others;
  auto [shipped, builds] = shipped_results();
  const auto races = races_of_whole_spaces(std::move(shipped), others, aim.regime);
  ExportPlan plan = plan_export(races, aim, current_among(builds));
  if (!aim.problems.empty()) return plan;
  for (const GemmProblem& problem : others) {
    plan.left_out.push_back(
        {problem, "its whole space was not recorded; without --max-kernels it has a row"});
  }
  return plan;
}

ExportPlan plan_of(const ExportOptions& options, const ExportAim& aim) {
  if (options.recorded && aim.max_kernels > 0) return plan_of_few_recorded(aim);
  if (options.recorded) {
    const auto [races, builds] = shipped_results();
    return plan_export(races, aim, current_among(builds));
  }
  if (!std::filesystem::exists(options.db)) {
    throw InputError(
        fmt::format("there is no database {}; name one with --db, create it by tuning, or export "
                    "the results that ship with the program with --recorded",
                    options.db));
  }
  const Store store = Store::open(options.db, Store::Mode::kReadOnly);
  return plan_export(store.races(), aim, current_among(store.builds()));
}

/// Flushes the list now and not at exit, so that the message of a failure can say that the files
/// are there. A closed pipe (`| head`) is not a failure.
void print_list(std::string_view list, const std::string& folder) {
  write_to(stdout, printable(list));
  if ((std::fflush(stdout) == 0 && std::ferror(stdout) == 0) || errno == EPIPE) return;
  throw Error(
      fmt::format("stdout cannot be written: {}; the export in {} is complete, and only "
                  "the list of its files is missing",
                  std::strerror(errno), folder));
}

int run_export(const ExportOptions& options) {
  const ExportFormat format = parse_export_format(options.format);
  if (options.with_cublaslt) check_has_libraries(format);
  ExportAim aim{.problems = {},
                .regime = parse_regime(options.regime),
                .pdl = parse_pdl(options.pdl),
                .max_kernels = options.max_kernels,
                .with_cublaslt = options.with_cublaslt,
                .plain_only = !has_epilogues(format)};
  if (!options.problems.empty()) aim.problems = chosen_problems(options.problems);
  const ExportPlan plan = plan_of(options, aim);
  const std::string kernel_hash = kernel_source_hash();
  const Validity validity = validity_of(plan, kernel_hash, std::string(git_revision()));
  const auto files = export_files(plan, validity, format);
  write_export(options.output, files);

  std::string list;
  for (const ExportFile& file : files) {
    list += (std::filesystem::path(options.output) / file.path).string() + '\n';
  }
  print_list(list, options.output);
  const auto gains = std::ranges::count(plan.rows, true, &ExportRow::gain);
  say("{} shapes, {} of them faster than cuBLAS beyond doubt; {}\n", plan.rows.size(), gains,
      where_measured(plan.rows.front().best.environment, plan.rows.front().best.run,
                     plan.rows.front().best.started_utc));
  const auto brief =
      std::ranges::count_if(plan.rows, [](const ExportRow& row) { return row.best.brief; });
  if (brief > 0) {
    say("{} of them were measured in brief, within a time budget, so that gains of a percent "
        "or two are not certain; the same tune with --budget 100configs takes its time\n",
        brief);
  }
  if (options.with_cublaslt) {
    const auto runs = [&plan](Fastest kind) {
      return std::ranges::count_if(plan.rows, [kind](const ExportRow& row) {
        return row.library && row.library->kind == kind;
      });
    };
    say("cuBLASLt runs at {} of them, where it was faster, and cublasGemmEx at {}\n",
        runs(Fastest::kCublasLt), runs(Fastest::kCublas));
  }
  for (const std::string& line : losses(plan, format)) say("{}\n", line);
  return 0;
}

}  // namespace

void add_export(CLI::App& program, Command& chosen) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App* command = add_command(program, "export");
  command->add_option("--format", options->format, help_text("export", "--format"))
      ->type_name("FORMAT")
      ->required();
  command->add_option("-o,--output", options->output, help_text("export", "-o"))
      ->type_name("DIR")
      ->required();
  CLI::Option* db = command->add_option("--db", options->db, help_text("common", "--db"))
                        ->type_name("FILE")
                        ->capture_default_str();
  command->add_flag("--recorded", options->recorded, help_text("common", "--recorded"))
      ->excludes(db);
  add_shapes(*command, options->problems);
  command->add_option("--regime", options->regime, help_text("export", "--regime"))
      ->type_name("REGIME")
      ->capture_default_str();
  command->add_option("--max-kernels", options->max_kernels, help_text("export", "--max-kernels"))
      ->type_name("K")
      ->check(CLI::Range(1, 1000));
  command->add_flag("--with-cublaslt", options->with_cublaslt,
                    help_text("export", "--with-cublaslt"));
  command->add_option("--pdl", options->pdl, help_text("common", "--pdl"))
      ->type_name("KIND")
      ->capture_default_str();
  command->callback([&chosen, options] { chosen = [options] { return run_export(*options); }; });
}

}  // namespace hgemm::cli
