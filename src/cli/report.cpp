#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>

#include "base/console.h"
#include "base/error.h"
#include "base/resources.h"
#include "base/text.h"
#include "cli/commands.h"
#include "output/report.h"
#include "output/staged_folder.h"
#include "program/database.h"
#include "program/devices.h"
#include "program/help.h"
#include "program/python.h"
#include "program/recorded.h"
#include "program/signals.h"
#include "program/writable.h"
#include "studies/registry.h"

namespace hgemm::cli {
namespace {
namespace fs = std::filesystem;
using std::chrono::steady_clock;

struct ReportOptions {
  std::string db = kDefaultDatabase;
  bool recorded = false;
  std::string before;
  std::string output;
  std::string command_line;
};

double seconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

std::vector<RecordedStudy> all_studies(const Store& store) {
  std::vector<RecordedStudy> all;
  for (const auto& module : study_modules()) {
    std::ranges::move(store.studies(module->name()), std::back_inserter(all));
  }
  return all;
}

/// "results/h200/tune.db"
std::string shipped_name(const fs::path& path) {
  return path.lexically_relative(resource_dir()).string();
}

ReportInput input_of(const ReportOptions& options) {
  ReportInput input;
  input.devices = known_devices();
  input.space = load_space("full", (resource_dir() / "configs").string());
  input.command_line = options.command_line;
  if (!options.before.empty()) {
    require_database(options.before);
    input.before =
        ReportBefore{Store::open(options.before, Store::Mode::kReadOnly).races(), options.before};
  }
  if (!options.recorded) {
    require_database(options.db);
    const Store store = Store::open(options.db, Store::Mode::kReadOnly);
    input.races = store.races();
    input.studies = all_studies(store);
    input.databases = {options.db};
    return input;
  }
  input.races = shipped_races();
  input.spaces = recorded_races("truth.db");
  for (const auto& databases :
       {answering_databases(), recorded_databases("truth.db"), recorded_databases("study.db")}) {
    for (const fs::path& path : databases) input.databases.push_back(shipped_name(path));
  }
  for (const fs::path& path : recorded_databases("study.db")) {
    auto studies = all_studies(Store::open(path.string(), Store::Mode::kReadOnly));
    std::ranges::move(studies, std::back_inserter(input.studies));
  }
  return input;
}

int run_report(const ReportOptions& options) {
  const auto start = steady_clock::now();
  const fs::path folder = options.output;
  if (!can_write_into(folder)) {
    throw InputError(
        fmt::format("-o {}: no files can be created there; name a folder that you may write to",
                    folder.string()));
  }
  const fs::path script = resource_dir() / "analysis" / "report.py";
  if (!fs::exists(script)) {
    throw Error(
        fmt::format("{} is not there; build the target `share`, or install the program "
                    "with `cmake --install`",
                    script.string()));
  }
  const std::string python = find_python();
  const std::string data = report_data(input_of(options), study_sections);
  StopSignals stop;  // unblocked signals would leave the staged files behind
  StagedFolder staged(folder);
  staged.write("report.json", data);
  const double read_s = seconds_since(start);

  const fs::path& drawn = staged.path();
  const PythonRun done = run_python(
      python, script, {(drawn / "report.json").string(), drawn.string(), folder.string()},
      [&stop] { return stop.received().has_value(); });
  if (const auto signal = stop.received()) {
    say("stopped; nothing was written to {}\n", folder.string());
    return 128 + *signal;
  }
  if (done.exit_code != 0) {
    throw Error(fmt::format(
        "nothing was written to {}: {} {} ended with exit code {}, and said why before this line",
        folder.string(), python, script.string(), *done.exit_code));
  }
  staged.publish();
  const double all_s = seconds_since(start);
  fmt::print("{}", printable(done.out));
  fmt::print("In {:.1f} s: {:.1f} to read, {:.1f} to draw.\n", all_s, read_s, all_s - read_s);
  return 0;
}

}  // namespace

void add_report(CLI::App& program, Command& chosen, const std::string& command_line) {
  const auto options = std::make_shared<ReportOptions>();
  options->command_line = command_line;
  CLI::App* command = add_command(program, "report");
  CLI::Option* db = command->add_option("--db", options->db, help_text("report", "--db"))
                        ->type_name("FILE")
                        ->capture_default_str();
  command->add_flag("--recorded", options->recorded, help_text("common", "--recorded"))
      ->excludes(db);
  command->add_option("--before", options->before, help_text("report", "--before"))
      ->type_name("FILE");
  command->add_option("-o,--output", options->output, help_text("report", "-o"))
      ->type_name("DIR")
      ->required();
  command->callback([&chosen, options] { chosen = [options] { return run_report(*options); }; });
}

}  // namespace hgemm::cli
