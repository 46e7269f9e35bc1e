#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "bundle/bundle.h"
#include "cli/commands.h"
#include "output/bundle.h"
#include "program/help.h"
#include "program/table_options.h"

namespace hgemm::cli {
namespace {

struct BundleOptions {
  std::string path;
  std::string format = "table";
  TableOptions tables;
};

int run_bundle(const BundleOptions& options) {
  const Format format = parse_format(options.format);
  if (format == Format::kCsv) {
    throw InputError(
        "--format csv: a bundle has table, md and json; export --format csv writes "
        "the rows as CSV");
  }
  const Bundle bundle = read_bundle(options.path);
  if (format == Format::kJson) {
    fmt::print("{}", bundle.manifest);
    return 0;
  }
  fmt::print("{}", printable(format_bundle(bundle, style_of(options.tables, format))));
  return 0;
}

}  // namespace

void add_bundle(CLI::App& program, Command& chosen) {
  const auto options = std::make_shared<BundleOptions>();
  CLI::App* command = add_command(program, "bundle");
  command->add_option("FILE", options->path, help_text("bundle", "FILE"))->required();
  command->add_option("--format", options->format, help_text("bundle", "--format"))
      ->type_name("FORMAT")
      ->capture_default_str();
  add_width_options(*command, options->tables);
  command->callback([&chosen, options] { chosen = [options] { return run_bundle(*options); }; });
}

}  // namespace hgemm::cli
