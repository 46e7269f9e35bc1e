#include "program/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/embedded.h"
#include "base/error.h"
#include "base/resources.h"
#include "program/command.h"
#include "program/devices.h"
#include "program/reference.h"
#include "search/strategy.h"

namespace hgemm::cli {
namespace {
namespace fs = std::filesystem;

using Words = std::vector<std::string>;

Words split(std::string_view words) {
  Words all;
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t end = std::min(words.find(' ', begin), words.size());
    all.emplace_back(words.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

/// The YAML files in a folder of configs/, named as --shapes and --space accept them.
Words config_names(const char* folder) {
  Words names;
  for (const auto& file : fs::directory_iterator(resource_dir() / "configs" / folder)) {
    if (file.path().extension() == ".yaml") names.push_back(file.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

Words space_names() {
  Words names = config_names("spaces");
  names.emplace_back(kWholeSpace);
  return names;
}

Words device_names() {
  Words names;
  for (const Device& device : known_devices()) names.push_back(device.name);
  return names;
}

Words strategies() {
  const auto names = strategy_names();
  return {names.begin(), names.end()};
}

/// The words of an option. The first matching row is used; an empty command matches all commands.
struct KnownValues {
  std::string_view command, option;
  std::function<Words()> words;
};

const std::vector<KnownValues>& known_values() {
  static const std::vector<KnownValues> kValues = {
      {"", "--shapes", [] { return config_names("shapes"); }},
      {"", "--space", space_names},
      {"", "--device", device_names},
      {"", "--strategy", strategies},
      {"export", "--regime", [] { return split("sustained burst single chain"); }},
      {"", "--regime", [] { return split("sustained burst single chain both"); }},
      {"", "--pdl", [] { return split("off safe weights"); }},
      {"", "--color", [] { return split("auto always never"); }},
      {"", "--objective", [] { return split("time energy"); }},
      {"export", "--format", [] { return split("cpp json csv md triton cutlass bundle"); }},
      {"bundle", "--format", [] { return split("table md json"); }},
      {"help", "--format", [] { return split("text md man bash zsh fish"); }},
      {"", "--format", [] { return split("table md json csv"); }},
      {"", "--executor", [] { return split("local slurm"); }},
      {"slurm", "ACTION", [] { return split("status resume cancel"); }},
      {"", "--dtype", [] { return split("bf16 fp16 fp32"); }},
      {"", "--data", [] { return split("normal uniform integers zeros sparse"); }},
      {"", "--accumulate", [] { return split("promoted fast any"); }},
      {"ladder", "--steps", [] { return split("cuda_core tensor_core hopper"); }},
  };
  return kValues;
}

bool is_shown(const CLI::App* command) { return !command->get_group().empty(); }

/// Collects the candidates for the word at the cursor. add() keeps those that match the typed part.
class Candidates {
 public:
  /// `typed` is the typed part of the word; `before` is put in front of each candidate.
  Candidates(std::string typed, std::string before)
      : typed_(std::move(typed)), before_(std::move(before)) {}

  void add(const std::string& word, const std::string& meaning = "") {
    if (!word.starts_with(typed_)) return;
    lines_.push_back(before_ + word + (meaning.empty() ? "" : "\t" + meaning));
  }
  void add_paths(const char* line) {
    // Shells complete only whole words.
    if (before_.empty()) lines_.emplace_back(line);
  }
  Words lines() && { return std::move(lines_); }

 private:
  std::string typed_, before_;
  Words lines_;
};

/// The start of a text's first sentence, short enough to fit beside a word.
std::string in_short(std::string text) {
  constexpr std::size_t kLongest = 60;
  text = text.substr(0, text.find_first_of("\n;:"));
  if (text.size() > kLongest) text = text.substr(0, text.rfind(' ', kLongest)) + " ...";
  while (text.ends_with(' ') || text.ends_with(',')) text.pop_back();
  return text;
}

Words values_of(const CLI::App& program, const CLI::App& command, const CLI::Option& option,
                const std::string& typed, const std::string& before) {
  const std::string name = option.get_name();
  const std::string value = value_name(option);
  const bool is_list = value.find("[,") != value.npos || name == "--shapes" || name == "--steps";
  const std::size_t comma = is_list ? typed.rfind(',') : typed.npos;
  const std::size_t begin = comma == typed.npos ? 0 : comma + 1;
  Candidates candidates(typed.substr(begin), before + typed.substr(0, begin));
  const std::string& own = &command == &program ? "" : command.get_name();
  const auto known = std::ranges::find_if(known_values(), [&](const KnownValues& row) {
    return row.option == name && (row.command.empty() || row.command == own);
  });
  if (known != known_values().end()) {
    for (const std::string& word : known->words()) candidates.add(word);
  } else if (!option.nonpositional() && own == "help") {
    for (const CLI::App* other : program.get_subcommands(is_shown)) {
      candidates.add(other->get_name());
    }
  }
  const auto has = [&](std::string_view part) {
    return value.find(part) != value.npos || (!option.nonpositional() && name.ends_with(part));
  };
  if (has("FILE") || has("DB") || has(".db")) candidates.add_paths("@files");
  if (has("DIR") || has("FOLDER")) candidates.add_paths("@folders");
  return std::move(candidates).lines();
}

const CLI::Option* find_option(const CLI::App& command, const std::string& word) {
  if (!word.starts_with('-')) return nullptr;
  return command.get_option_no_throw(word);
}

Words option_names(const CLI::App& command, const std::string& typed) {
  Candidates candidates(typed, "");
  const auto is_listed = [](const CLI::Option* option) {
    return option->nonpositional() && !option->get_group().empty();
  };
  for (const CLI::Option* option : command.get_options(is_listed)) {
    for (const std::string& name : option->get_lnames()) {
      candidates.add("--" + name, in_short(option->get_description()));
    }
    if (!option->get_lnames().empty()) continue;
    candidates.add("-" + option->get_snames().front(), in_short(option->get_description()));
  }
  return std::move(candidates).lines();
}

}  // namespace

std::vector<std::string_view> shell_names() { return {"bash", "zsh", "fish"}; }

std::string completion_script(std::string_view shell) {
  const std::string path = fmt::format("src/program/completion/{}.sh", shell);
  for (const EmbeddedFile& file : embedded_completion()) {
    if (file.path == path) return std::string(file.text);
  }
  throw InputError(fmt::format("there is no completion for the shell {}; there is for {}", shell,
                               fmt::join(shell_names(), ", ")));
}

std::vector<std::string> completions(const CLI::App& program, std::span<const std::string> words) {
  const CLI::App* command = &program;
  const CLI::Option* waiting = nullptr;  // the next word is the value of this option
  std::string word = words.empty() ? "" : words.back();
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    // bash splits "--format=json" into three words.
    if (words[i] == "=") continue;
    if (waiting) {
      waiting = nullptr;
      continue;
    }
    if (const CLI::Option* option = find_option(*command, words[i])) {
      if (option->get_items_expected_max() > 0) waiting = option;
    } else if (command == &program && !words[i].starts_with('-')) {
      for (const CLI::App* other : program.get_subcommands(is_shown)) {
        if (other->get_name() == words[i]) command = other;
      }
    }
  }
  if (waiting) {
    if (word == "=") word.clear();
    return values_of(program, *command, *waiting, word, "");
  }
  if (const std::size_t equals = word.find('='); equals != word.npos) {
    const CLI::Option* option = find_option(*command, word.substr(0, equals));
    if (!option) return {};
    return values_of(program, *command, *option, word.substr(equals + 1),
                     word.substr(0, equals + 1));
  }
  if (word.starts_with('-')) return option_names(*command, word);
  if (command == &program) {
    Candidates candidates(word, "");
    for (const CLI::App* other : program.get_subcommands(is_shown)) {
      candidates.add(other->get_name(), in_short(other->get_description()));
    }
    return std::move(candidates).lines();
  }
  for (const CLI::Option* option : command->get_options()) {
    if (!option->nonpositional()) return values_of(program, *command, *option, word, "");
  }
  return option_names(*command, word);
}

}  // namespace hgemm::cli
