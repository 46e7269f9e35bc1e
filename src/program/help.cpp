#include "program/help.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <stdexcept>

#include "base/embedded.h"

namespace hgemm::cli {
namespace {

std::string_view file_of(std::string_view command) {
  const std::string path = fmt::format("src/program/help/{}.txt", command);
  for (const EmbeddedFile& file : embedded_help()) {
    if (file.path == path) return file.text;
  }
  return "";
}

/// The text below the entry's heading, up to the next heading; nullopt if there is no such entry.
std::optional<std::string_view> find_entry(std::string_view file, std::string_view entry) {
  const std::string heading = fmt::format("[{}]\n", entry);
  auto begin = file.starts_with(heading) ? 0 : file.find("\n" + heading);
  if (begin == file.npos) return std::nullopt;
  begin = file.find('\n', begin + 1) + 1;
  std::string_view text = file.substr(begin, file.find("\n[", begin) - begin);
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string help_text(std::string_view command, std::string_view entry) {
  auto found = find_entry(file_of(command), entry);
  if (!found) found = find_entry(file_of("common"), entry);
  if (!found) throw std::logic_error(fmt::format("no help of {} for {}", command, entry));
  std::string text(*found);
  if (entry != "about" && entry != "summary") std::ranges::replace(text, '\n', ' ');
  return text;
}

CLI::App* add_command(CLI::App& program, const std::string& name) {
  CLI::App* command = program.add_subcommand(name, help_text(name, "summary"));
  command->footer(help_text(name, "about"));
  return command;
}

}  // namespace hgemm::cli
