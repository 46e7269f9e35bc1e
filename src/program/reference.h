// The --help texts of all commands as one document: a page of docs/reference and a man page.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace hgemm::cli {

struct OptionText {
  std::string names;      ///< "-o, --output"; for an argument, its name
  std::string value;      ///< "FILE|MxNxK", "N, 1 to 1024"; empty for a flag
  std::string otherwise;  ///< the default; may be empty
  std::string text;
  std::string excludes;  ///< names, joined with ", "
  std::string needs;     ///< the same
  bool is_argument = false;
  bool is_required = false;
  bool is_repeated = false;  ///< takes several values
};

struct CommandText {
  std::string name;  ///< empty for the default command
  std::string summary;
  std::string about;
  std::vector<OptionText> options;  ///< arguments first
};

/// The name of an option's value, without the checks on it: "FILE|MxNxK", "N".
std::string value_name(const CLI::Option& option);

/// All commands that --help lists, the default command first, in the order of --help.
std::vector<CommandText> command_texts(const CLI::App& program);

/// The Markdown page docs/reference/commands.md (scripts/write_reference.sh).
std::string reference_page(const std::vector<CommandText>& commands);

/// The man page hgemm-tune(1), as roff. Its footer shows `version`.
std::string manual_page(const std::vector<CommandText>& commands, const std::string& version);

}  // namespace hgemm::cli
