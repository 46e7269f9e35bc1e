#include "program/table_options.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "program/help.h"

namespace hgemm::cli {
namespace {

/// A narrower table would be of no use.
constexpr std::size_t kLeastWidth = 40;
constexpr std::int64_t kMostWidth = 10'000;

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Width of stdout in characters. nullopt: no limit (a pipe or a file).
std::optional<std::size_t> width_of_stdout() {
  std::optional<std::size_t> width;
  const auto columns = find_number(variable("COLUMNS"));
  winsize size{};
  if (columns && *columns > 0 && *columns <= kMostWidth) {
    width = static_cast<std::size_t>(*columns);
  } else if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
             size.ws_col > 0) {
    width = size.ws_col;
  }
  return width ? std::optional(std::max(*width, kLeastWidth)) : std::nullopt;
}

bool wants_color(const std::string& word) {
  if (word == "always") return true;
  if (word == "never") return false;
  if (word != "auto") {
    throw InputError(fmt::format("--color {}: use auto, always or never", in_quotes(word)));
  }
  if (!variable("NO_COLOR").empty()) return false;
  const std::string_view force = variable("CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return true;
  return isatty(STDOUT_FILENO) == 1 && variable("TERM") != "dumb";
}

}  // namespace

void add_width_options(CLI::App& command, TableOptions& options) {
  command.add_flag("--wide", options.wide, help_text("common", "--wide"));
  command.add_option("--color", options.color, help_text("common", "--color"))
      ->type_name("auto|always|never")
      ->capture_default_str();
}

void add_table_options(CLI::App& command, TableOptions& options) {
  command.add_option("--columns", options.columns, help_text("common", "--columns"))
      ->type_name("NAME[,NAME...]")
      ->delimiter(',');
  command.add_option("--sort", options.sort, help_text("common", "--sort"))
      ->type_name("NAME[:asc|desc][,...]");
  add_width_options(command, options);
}

Style style_of(const TableOptions& options, Format format) {
  Style style(format);
  style.all_columns = options.wide;
  style.color = wants_color(options.color) && format == Format::kTable;
  style.columns = options.columns;
  style.sort = parse_sort(options.sort);
  if (format == Format::kTable) style.width = width_of_stdout();
  if (options.only_tables && for_programs(format) &&
      !(style.columns.empty() && style.sort.empty())) {
    throw InputError(
        "--columns and --sort name what tables show here; with --format json and csv all fields "
        "come in their order");
  }
  return style;
}

}  // namespace hgemm::cli
