#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "base/console.h"
#include "base/error.h"
#include "base/file.h"
#include "base/revision.h"
#include "base/text.h"
#include "cli/commands.h"
#include "compile/compiler.h"
#include "gemm/codec.h"
#include "output/export/export.h"
#include "program/aim.h"
#include "program/cache.h"
#include "program/current.h"
#include "program/help.h"
#include "program/progress.h"
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
  AllowedOptions allowed;
  int max_kernels = 0;
  bool with_cublaslt = false;
  CacheOptions cache;
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

/// The kernels as people use them: unlike those of tunes, they wait as long as they must.
std::vector<std::string> flags_of_bundles() {
  std::vector<std::string> flags = default_compile_flags();
  std::erase_if(flags,
                [](const std::string& flag) { return flag.starts_with("-DHGEMM_WAIT_LIMIT_NS"); });
  return flags;
}

/// The cubins of the kernels, in their order.
std::vector<std::string> compiled(std::span<const Kernel> kernels, const CacheOptions& cache) {
  CompileOptions options;
  use_cache(cache, options);
  options.toolchain.flags = flags_of_bundles();
  std::map<std::string, std::string> cubins;
  Progress progress(stderr, 1, false);
  TuneListener::Compiling counts{.total = static_cast<int>(kernels.size())};
  compile_all(kernels, options, [&](const Build& build) {
    const std::string name = build_name(build.kernel);
    if (build.status != Status::kOk) {
      throw Error(
          fmt::format("{} cannot be compiled: {}; leave its shapes out, or tune them again "
                      "with this version",
                      name, build.message));
    }
    ++counts.done;
    if (build.from_cache) ++counts.from_cache;
    progress.compiling(counts);
    cubins[name] = read_cubin(build.cubin);
  });
  std::vector<std::string> in_order;
  for (const Kernel& kernel : kernels) in_order.push_back(cubins.at(build_name(kernel)));
  return in_order;
}

/// Throws InputError before anything is compiled if the file cannot be written.
void check_bundle_path(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return;
  throw InputError(
      fmt::format("{} is a folder, and a bundle is one file: name the file with -o, "
                  "as in -o {}/tuned.hgb",
                  path, path));
}

/// Writes the export; returns the paths of its files.
std::vector<std::string> write_files(const ExportPlan& plan, const Validity& validity,
                                     ExportFormat format, const ExportOptions& options) {
  if (format == ExportFormat::kBundle) {
    const std::vector<std::string> cubins = compiled(bundle_kernels(plan), options.cache);
    const std::string bytes = bundle_file(plan, validity, nvrtc_version(), cubins);
    replace_file(options.output, bytes);
    say("{} kernels, {:.1f} MB\n", cubins.size(), static_cast<double>(bytes.size()) / 1e6);
    return {options.output};
  }
  const auto files = export_files(plan, validity, format);
  write_export(options.output, files);
  std::vector<std::string> paths;
  for (const ExportFile& file : files) {
    paths.push_back((std::filesystem::path(options.output) / file.path).string());
  }
  return paths;
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
  if (options.with_cublaslt && options.allowed.batch_invariant) {
    throw InputError(
        "--with-cublaslt: the bits of a library's result may follow M, so --batch-invariant does "
        "not allow it; leave one of them away");
  }
  check_cache(options.cache);
  if (format == ExportFormat::kBundle) check_bundle_path(options.output);
  ExportAim aim{.problems = {},
                .regime = parse_regime(options.regime),
                .allowed = parse_allowed(options.allowed),
                .max_kernels = options.max_kernels,
                .with_cublaslt = options.with_cublaslt,
                .plain_only = !has_epilogues(format)};
  if (!options.problems.empty()) aim.problems = chosen_problems(options.problems);
  check_allowed(aim.allowed, aim.problems);
  const ExportPlan plan = plan_of(options, aim);
  const std::string kernel_hash = kernel_source_hash();
  const Validity validity = validity_of(plan, kernel_hash, std::string(git_revision()));
  std::string list;
  for (const std::string& path : write_files(plan, validity, format, options)) list += path + '\n';
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
      ->type_name("DIR|FILE")
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
  add_allowed(*command, options->allowed);
  add_cache(*command, options->cache);
  command->callback([&chosen, options] { chosen = [options] { return run_export(*options); }; });
}

}  // namespace hgemm::cli
