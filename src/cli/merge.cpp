#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "program/database.h"
#include "program/help.h"
#include "store/store.h"

namespace hgemm::cli {
namespace {
namespace fs = std::filesystem;

struct MergeOptions {
  std::vector<std::string> inputs;
  std::string output;
  bool mixed = false;
};

/// Refuses databases that were recorded in different conditions: queries of the merged database
/// would see only the newest of them.
class OneEnvironment {
 public:
  void add(const Store& store) {
    for (const Environment& environment : store.environments()) {
      if (!first_) {
        first_ = environment;
        first_path_ = store.path();
      }
      const auto differing = differences(*first_, environment);
      if (differing.empty()) continue;
      const std::string what =
          store.path() == first_path_
              ? fmt::format("{} holds results of several environments", first_path_)
              : fmt::format("{} and {} are from different environments", first_path_, store.path());
      throw InputError(fmt::format("{}: {}; --mixed merges them nevertheless", what,
                                   fmt::join(differing, ", ")));
    }
  }

 private:
  std::optional<Environment> first_;
  std::string first_path_;
};

int run_merge(const MergeOptions& options) {
  std::vector<Store> inputs;
  OneEnvironment environment;
  for (const std::string& path : options.inputs) {
    require_database(path);
    std::error_code ignored;  // an output that does not exist is another file
    if (fs::equivalent(path, options.output, ignored)) {
      throw InputError(
          fmt::format("{} is both merged and merged into; name another --output", path));
    }
    inputs.push_back(Store::open(path, Store::Mode::kReadOnly));
    if (!options.mixed) environment.add(inputs.back());
  }
  std::error_code no_file;  // a missing or empty file: opening it reports the problem
  const auto bytes = fs::file_size(options.output, no_file);
  if (!options.mixed && !no_file && bytes > 0) {
    environment.add(Store::open(options.output, Store::Mode::kReadOnly));
  }

  Store output = Store::open(options.output, Store::Mode::kReadWrite);
  for (const Store& input : inputs) {
    const Store::Added added = output.add_all(input);
    if (added.races + added.trials + added.samples + added.studies == 0) {
      fmt::print("{}: nothing that {} does not have\n", printable(input.path()),
                 printable(output.path()));
    } else {
      const std::string samples_and_studies =
          added.studies > 0
              ? fmt::format(", {} samples and {} studies", added.samples, added.studies)
              : fmt::format(" and {} samples", added.samples);
      fmt::print("{}: {} races, {} trials{} added\n", printable(input.path()), added.races,
                 added.trials, samples_and_studies);
    }
  }
  return 0;
}

}  // namespace

void add_merge(CLI::App& program, Command& chosen) {
  const auto options = std::make_shared<MergeOptions>();
  CLI::App* command = add_command(program, "merge");
  command->add_option("IN.db", options->inputs, help_text("merge", "IN.db"))
      ->required()
      ->type_name("");
  command->add_option("-o,--output", options->output, help_text("merge", "-o"))
      ->required()
      ->type_name("OUT.db");
  command->add_flag("--mixed", options->mixed, help_text("merge", "--mixed"));
  command->callback([&chosen, options] { chosen = [options] { return run_merge(*options); }; });
}

}  // namespace hgemm::cli
