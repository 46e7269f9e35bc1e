// --help of every command: nothing is missing, nothing is left over, and it speaks of things by
// their names of today.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>

#include "families/family.h"
#include "tests/cli/program.h"

namespace hgemm {
namespace {

using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// The text with every run of white space as one space.
std::string in_one_line(const std::string& text) {
  std::istringstream words(text);
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line;
}

/// What the help of a command says of one option or argument.
struct DescribedOption {
  std::string names;  ///< "-o,--output"
  std::string text;
};

/// The column of the descriptions.
constexpr std::size_t kColumn = 30;

std::vector<DescribedOption> options_in(const std::string& help) {
  std::vector<DescribedOption> options;
  std::istringstream lines(help);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "Options:" || line == "Positionals:") {
      inside = true;
    } else if (line.empty()) {
      inside = false;
    } else if (inside && line.starts_with(std::string(kColumn, ' '))) {
      options.back().text = line.substr(kColumn);
    } else if (inside) {
      const std::string names = line.substr(2, line.find(' ', 2) - 2);
      // Beside it, or in a line of its own where the names are too long for that.
      const bool beside = line.size() > kColumn && line[kColumn - 1] == ' ';
      options.push_back({names, beside ? line.substr(kColumn) : ""});
    }
  }
  return options;
}

/// The entries of a file of help texts, by their headings.
std::map<std::string, std::string> entries_of(const std::string& text) {
  static const std::regex kHeading(R"re(\[([^\]\s]+)\])re");
  std::map<std::string, std::string> entries;
  std::string* entry = nullptr;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch heading;
    if (std::regex_match(line, heading, kHeading)) {
      const auto [added, is_new] = entries.try_emplace(heading[1]);
      EXPECT_TRUE(is_new) << line << " stands twice";
      entry = &added->second;
    } else if (entry != nullptr) {
      *entry += line + '\n';
    } else {
      ADD_FAILURE() << "a line before the first heading: " << line;
    }
  }
  return entries;
}

class Help : public ProgramTest {
 protected:
  /// Commands, and what --help says; the default command's is under "tune".
  std::map<std::string, std::string> helps() const {
    const std::string help = run("--help").out;
    std::map<std::string, std::string> all{{"tune", help}};
    std::istringstream lines(help.substr(help.find("\nSubcommands:\n") + 1));
    std::string line;
    for (std::getline(lines, line); std::getline(lines, line) && !line.empty();) {
      const std::string command = line.substr(2, line.find(' ', 2) - 2);
      const Outcome own = run(command + " --help");
      EXPECT_EQ(own.exit_code, 0) << own.err;
      all[command] = own.out;
    }
    return all;
  }

  static fs::path folder_of_texts() { return fs::path(HGEMM_SOURCE_DIR) / "src/program/help"; }

  /// Files of help texts without their extension, and what they hold.
  static std::map<std::string, std::string> texts() {
    std::map<std::string, std::string> all;
    for (const auto& file : fs::directory_iterator(folder_of_texts())) {
      all[file.path().stem().string()] = read_file(file.path());
    }
    return all;
  }
};

TEST_F(Help, EveryOptionOfEveryCommandIsDescribed) {
  const auto all = helps();
  EXPECT_THAT(all, SizeIs(testing::Ge(16u)));
  for (const auto& [command, help] : all) {
    const auto options = options_in(help);
    EXPECT_THAT(options, SizeIs(testing::Ge(2u))) << command;
    for (const DescribedOption& option : options) {
      EXPECT_THAT(in_one_line(option.text), Not(IsEmpty())) << command << ' ' << option.names;
    }
  }
}

TEST_F(Help, EveryTextIsShown) {
  const auto all = helps();
  const auto is_shown = [&](const std::string& command, const std::string& entry,
                            const std::string& text) {
    const std::string help = in_one_line(all.at(command));
    if (entry == "summary") return help.starts_with(text);
    if (entry == "about") return help.ends_with(text);
    return std::ranges::any_of(options_in(all.at(command)), [&](const DescribedOption& option) {
      return ("," + option.names + ",").find("," + entry + ",") != std::string::npos &&
             in_one_line(option.text) == text;
    });
  };
  for (const auto& [file, content] : texts()) {
    const bool shared = file == "common" || file == "study";
    ASSERT_TRUE(shared || all.contains(file)) << file << " is no command";
    for (const auto& [entry, text] : entries_of(content)) {
      const std::string line = in_one_line(text);
      EXPECT_THAT(line, Not(IsEmpty())) << file << ' ' << entry;
      const auto shows = [&](const auto& command) { return is_shown(command.first, entry, line); };
      EXPECT_TRUE(shared ? std::ranges::any_of(all, shows) : is_shown(file, entry, line))
          << "no command shows what " << file << ".txt has of " << entry;
    }
  }
}

TEST_F(Help, ExamplesUseOnlyOptionsThatThereAre) {
  static const std::regex kOption(R"re(\s(--?[a-z][a-z-]*))re");
  const auto all = helps();
  for (const auto& [command, help] : all) {
    const std::string start = command == "tune" ? "\n  hgemm-tune --" : "\n  hgemm-tune " + command;
    EXPECT_NE(help.find("\nExamples:" + start), std::string::npos) << command << " has none";
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("  hgemm-tune ")) continue;
      std::istringstream words(line.substr(13));
      std::string first;
      words >> first;
      const auto own = options_in(all.at(all.contains(first) ? first : "tune"));
      for (std::sregex_iterator at(line.begin(), line.end(), kOption), end; at != end; ++at) {
        const std::string option = (*at)[1];
        EXPECT_TRUE(std::ranges::any_of(
            own,
            [&](const DescribedOption& known) {
              return ("," + known.names + ",").find("," + option + ",") != std::string::npos;
            }))
            << command << " has an example with " << option;
      }
    }
  }
}

TEST_F(Help, EveryCommandHasATextOfItsOwn) {
  const auto files = texts();
  for (const auto& [command, help] : helps()) {
    ASSERT_TRUE(files.contains(command)) << command;
    const auto entries = entries_of(files.at(command));
    EXPECT_TRUE(entries.contains("summary") && entries.contains("about")) << command;
  }
}

TEST_F(Help, NoTextUsesWordsOfOldVersions) {
  static const std::pair<const char*, std::regex> kOldWords[] = {
      {"walk is scheduler", std::regex(R"re(\bwalks?\b)re")},
      {"late is overlap", std::regex(R"re(\blate\b)re")},
      {"an epilogue computes; a store stores",
       std::regex(R"re(\b(stor\w+|direct|tma|staged) epilogue|epilogue \w* ?stor)re")},
      {"swap2 is swap_ab", std::regex(R"re(\bswap\d)re")},
      {"vec2 is gemv", std::regex(R"re(\bvec\d?\b)re")},
      {"for512x512x512 is fixed", std::regex(R"re(\bfor\d+x\d+x\d+)re")},
      {"labels have no type",
       std::regex(R"re(\b(bm\d+\.|swap_ab\.|gemv\.)[\w.]*\.(bf16|fp16|fp32)\b)re")},
  };
  for (const auto& [file, text] : texts()) {
    for (const auto& [why, word] : kOldWords) {
      std::smatch match;
      EXPECT_FALSE(std::regex_search(text, match, word))
          << file << ": " << match.str() << ": " << why;
    }
  }
}

TEST_F(Help, LabelsInTextsAreThoseOfKernels) {
  static const std::regex kLabel(R"re(\b(bm\d+\.bn|swap_ab\.bm|gemv\.v)[\w.]*\w)re");
  int labels = 0;
  for (const auto& [file, text] : texts()) {
    for (std::sregex_iterator at(text.begin(), text.end(), kLabel), end; at != end; ++at) {
      SCOPED_TRACE(file + ": " + at->str());
      ++labels;
      const KernelConfig config = parse_label(at->str());
      EXPECT_EQ(label(config), at->str());
      EXPECT_FALSE(why_invalid(config));
    }
  }
  EXPECT_GE(labels, 4);
}

}  // namespace
}  // namespace hgemm
