#include "program/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <regex>
#include <sstream>
#include <utility>

namespace hgemm::cli {
namespace {

struct ExitCode {
  const char* code;
  const char* meaning;
};
constexpr ExitCode kExitCodes[] = {
    {"0", "Done. Also: answered from recorded results."},
    {"1", "Failed: a command could not do its work, or it checks something that is not so."},
    {"2", "Bad usage or bad input. The message says what, where, and what to write instead."},
    {"130, 143", "Stopped by SIGINT or SIGTERM. Finished work is in the database."},
    {"141", "The reader of stdout went away (`| head`). Finished work is in the database."},
};

constexpr std::pair<const char*, const char*> kFiles[] = {
    {"hgemm-tune.db", "The default database, in the working folder (--db)."},
    {"~/.cache/hgemm-tune", "Compiled kernels (--cache-dir)."},
    {"share/hgemm-tune", "Shapes, spaces and recorded results, beside the program or above it."},
};

constexpr std::pair<const char*, const char*> kVariables[] = {
    {"XDG_CACHE_HOME", "Folder of caches, in place of ~/.cache."},
    {"HGEMM_TUNE_SHARED_CACHE", "A second cache, which is only read (--shared-cache)."},
    {"HGEMM_TUNE_BLAS", "Folder of another cuBLAS to measure (--blas)."},
    {"HGEMM_TUNE_PYTHON", "The Python that draws reports."},
};

// ---- Data from CLI11 ----

std::string names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names.empty() ? option.get_name(true) : fmt::format("{}", fmt::join(names, ", "));
}

/// The names, sorted: CLI11 orders options by their addresses.
std::string names_of(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  std::ranges::sort(names);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string value_of(const CLI::Option& option) {
  static const std::regex kRange(R"re(in \[(\S+) - (\S+)\])re");
  const std::string type = option.get_type_name();
  std::smatch range;
  return value_name(option) + (std::regex_search(type, range, kRange)
                                   ? fmt::format(", {} to {}", range[1].str(), range[2].str())
                                   : "");
}

OptionText text_of(const CLI::Option& option) {
  return {.names = names_of(option),
          .value = value_of(option),
          .otherwise = option.get_default_str(),
          .text = option.get_description(),
          .excludes = names_of(option.get_excludes()),
          .needs = names_of(option.get_needs()),
          .is_argument = !option.nonpositional(),
          .is_required = option.get_required(),
          .is_repeated = option.get_expected_max() == CLI::detail::expected_max_vector_size};
}

CommandText text_of(const CLI::App& command, std::string name) {
  CommandText text{std::move(name), command.get_description(), command.get_footer(), {}};
  const auto is_shown = [](const CLI::Option* option) { return !option->get_group().empty(); };
  for (const CLI::Option* option : command.get_options(is_shown)) {
    text.options.push_back(text_of(*option));
  }
  std::ranges::stable_partition(text.options, &OptionText::is_argument);
  return text;
}

// ---- Text ----

/// A paragraph on one line, or verbatim lines.
struct Block {
  bool is_code = false;
  std::string text;
};

/// Indented lines of a help text are examples and tables.
std::vector<Block> blocks_of(const std::string& text) {
  constexpr std::string_view kIndent = "  ";
  std::vector<Block> blocks;
  bool begins = true;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) {
      begins = true;
      continue;
    }
    const bool is_code = line.starts_with(kIndent);
    if (begins || is_code != blocks.back().is_code) {
      blocks.push_back({is_code, ""});
    } else {
      blocks.back().text += is_code ? "\n" : " ";
    }
    blocks.back().text += is_code ? line.substr(kIndent.size()) : line;
    begins = false;
  }
  return blocks;
}

/// "hgemm-tune merge [options] -o OUT.db IN.db..."
std::string usage_of(const CommandText& command) {
  std::string usage = "hgemm-tune";
  if (!command.name.empty()) usage += " " + command.name;
  usage += " [options]";
  for (const OptionText& option : command.options) {
    if (!option.is_required || option.is_argument) continue;
    usage += fmt::format(" {} {}", option.names.substr(0, option.names.find(',')), option.value);
  }
  for (const OptionText& option : command.options) {
    if (!option.is_argument) continue;
    const std::string name = option.names + (option.is_repeated ? "..." : "");
    usage += option.is_required ? " " + name : " [" + name + "]";
  }
  return usage;
}

std::string title_of(const CommandText& command) {
  return command.name.empty() ? "hgemm-tune" : "hgemm-tune " + command.name;
}

/// The end of an option's text: the options that it needs or excludes.
std::string conditions_of(const OptionText& option) {
  std::string conditions;
  if (!option.needs.empty()) conditions += fmt::format(" Needs {}.", option.needs);
  if (!option.excludes.empty()) conditions += fmt::format(" Not with {}.", option.excludes);
  return conditions;
}

std::string sentence(std::string text) {
  if (!text.empty() && text.back() != '.') text += '.';
  return text;
}

// ---- Markdown ----

std::string code(const std::string& text) { return text.empty() ? "" : "`" + text + "`"; }

/// Escapes characters of a help text that would be accidental Markdown markup. Text between
/// backticks is code.
std::string markdown_line(const std::string& text) {
  std::string line;
  bool is_code = false;
  for (const char c : text) {
    if (c == '`') is_code = !is_code;
    if (!is_code && (c == '*' || c == '<' || c == '\\')) line += '\\';
    line += c;
  }
  return line;
}

/// Escapes bars, too: they end a table's cell even in code.
std::string cell(const std::string& text) {
  std::string line;
  for (const char c : markdown_line(text)) line += c == '|' ? "\\|" : std::string(1, c);
  return line;
}

std::string markdown_of(const std::string& text) {
  std::string markdown;
  for (const Block& block : blocks_of(text)) {
    markdown += block.is_code ? fmt::format("```text\n{}\n```\n\n", block.text)
                              : markdown_line(block.text) + "\n\n";
  }
  return markdown;
}

std::string markdown_of(const CommandText& command) {
  std::string page = fmt::format("## {}\n\n{}```sh\n{}\n```\n\n", title_of(command),
                                 markdown_of(sentence(command.summary)), usage_of(command));
  page += markdown_of(command.about);
  page += "| option | value | default | meaning |\n|---|---|---|---|\n";
  for (const OptionText& option : command.options) {
    const std::string otherwise = option.is_required ? "(required)" : code(option.otherwise);
    page +=
        fmt::format("| {} | {} | {} | {} |\n", cell(code(option.names)), cell(code(option.value)),
                    cell(otherwise), cell(sentence(option.text) + conditions_of(option)));
  }
  return page + "\n";
}

// ---- roff ----

/// Escapes text for roff: no line starts a request, and hyphens can be copied to a shell.
std::string roff(const std::string& text) {
  std::string escaped;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) escaped += "\\&";
    escaped += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
    begins = c == '\n';
  }
  return escaped;
}

std::string roff_of(const std::string& text) {
  std::string page;
  for (const Block& block : blocks_of(text)) {
    page += block.is_code ? fmt::format(".PP\n.RS 4\n.nf\n{}\n.fi\n.RE\n", roff(block.text))
                          : fmt::format(".PP\n{}\n", roff(block.text));
  }
  return page;
}

std::string roff_of(const CommandText& command) {
  std::string page;
  for (const OptionText& option : command.options) {
    std::string text = sentence(option.text) + conditions_of(option);
    if (option.is_required) text += " Required.";
    if (!option.otherwise.empty()) text += fmt::format(" Default: {}.", option.otherwise);
    page += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(option.names),
                        option.value.empty() ? "" : fmt::format(" \\fI{}\\fR", roff(option.value)),
                        roff(text));
  }
  return page;
}

template <class Rows>
std::string roff_list(const char* heading, const Rows& rows) {
  std::string page = fmt::format(".SH {}\n", heading);
  for (const auto& [name, text] : rows) {
    page += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(name), roff(text));
  }
  return page;
}

}  // namespace

std::string value_name(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

std::vector<CommandText> command_texts(const CLI::App& program) {
  std::vector<CommandText> commands{text_of(program, "")};
  const auto is_shown = [](const CLI::App* command) { return !command->get_group().empty(); };
  for (const CLI::App* command : program.get_subcommands(is_shown)) {
    commands.push_back(text_of(*command, command->get_name()));
  }
  return commands;
}

std::string reference_page(const std::vector<CommandText>& commands) {
  std::string page =
      "# Commands\n\n"
      "This page has what `hgemm-tune --help` and the `--help` of each command say. It is written "
      "by `hgemm-tune help --format md`.\n\n"
      "| command | what it does |\n|---|---|\n";
  for (const CommandText& command : commands) {
    std::string anchor = title_of(command);
    std::ranges::replace(anchor, ' ', '-');
    const std::string summary = blocks_of(command.summary).front().text;
    page += fmt::format("| [{}](#{}) | {} |\n", title_of(command), anchor,
                        cell(sentence(summary.substr(0, summary.find(". ")))));
  }
  page += "\n## Exit codes\n\n| code | meaning |\n|---|---|\n";
  for (const auto& [exit_code, meaning] : kExitCodes) {
    page += fmt::format("| {} | {} |\n", exit_code, cell(meaning));
  }
  page += "\n## Environment variables\n\n| variable | meaning |\n|---|---|\n";
  for (const auto& [name, meaning] : kVariables) {
    page += fmt::format("| `{}` | {} |\n", name, cell(meaning));
  }
  page += '\n';
  for (const CommandText& command : commands) page += markdown_of(command);
  page.pop_back();
  return page;
}

std::string manual_page(const std::vector<CommandText>& commands, const std::string& version) {
  std::string page = fmt::format(
      ".TH HGEMM\\-TUNE 1 \"\" \"{}\" \"User Commands\"\n"
      ".nh\n.ad l\n"
      ".SH NAME\nhgemm\\-tune \\- find the fastest verified GEMM kernels for Hopper GPUs\n"
      ".SH SYNOPSIS\n",
      roff(version));
  for (const CommandText& command : commands) page += roff(usage_of(command)) + "\n.br\n";
  const CommandText& tune = commands.front();
  page += ".SH DESCRIPTION\n" + roff_of(tune.summary) + roff_of(tune.about);
  page += ".SH OPTIONS\n" + roff_of(tune);
  page += ".SH COMMANDS\n";
  for (const CommandText& command : commands) {
    if (&command == &tune) continue;
    page += fmt::format(".SS {}\n{}", roff(usage_of(command)), roff_of(sentence(command.summary)));
    page += roff_of(command.about) + roff_of(command);
  }
  std::vector<std::pair<const char*, const char*>> exit_codes;
  for (const auto& [exit_code, meaning] : kExitCodes) exit_codes.emplace_back(exit_code, meaning);
  page += roff_list("EXIT STATUS", exit_codes);
  page += roff_list("FILES", kFiles);
  page += roff_list("ENVIRONMENT", kVariables);
  return page;
}

}  // namespace hgemm::cli
