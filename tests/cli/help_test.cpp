// --help of every command: nothing is missing, nothing is left over, and it speaks of things by
// their names of today.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>

#include "families/family.h"
#include "program/configs.h"
#include "tests/cli/program.h"

namespace hgemm {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
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

TEST_F(Help, HelpOfACommandIsItsHelpOption) {
  for (const auto& [command, help] : helps()) {
    EXPECT_EQ(run(command == "tune" ? "help" : "help " + command).out, help) << command;
  }
  const Outcome unknown = run("help bets");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean best?"));
}

TEST_F(Help, ReferencePageIsCurrent) {
  EXPECT_EQ(read_file(fs::path(HGEMM_SOURCE_DIR) / "docs/reference/commands.md"),
            run("help --format md").out)
      << "run scripts/write_reference.sh";
}

TEST_F(Help, ManPageHasEveryOptionOfEveryCommand) {
  const std::string page = run("help --format man").out;
  EXPECT_TRUE(page.starts_with(".TH HGEMM\\-TUNE 1 ")) << page.substr(0, 80);
  for (const auto& [command, help] : helps()) {
    if (command != "tune") {
      EXPECT_THAT(page, HasSubstr("\n.SS hgemm\\-tune " + command + " "));
    }
    for (const DescribedOption& option : options_in(help)) {
      const std::string last = option.names.substr(option.names.rfind(',') + 1);
      const std::string escaped = std::regex_replace(last, std::regex("-"), "\\-");
      EXPECT_TRUE(page.find(escaped + "\\fR") != page.npos) << command << ' ' << option.names;
    }
  }
  // A line that begins with one of these, and is no request, would be lost.
  static const std::regex kRequest(R"re(\.(TH|SH|SS|TP|PP|RS|RE|nf|fi|br|nh|ad)( .*)?)re");
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_FALSE(line.starts_with('\'')) << line;
    EXPECT_TRUE(!line.starts_with('.') || std::regex_match(line, kRequest)) << line;
  }
}

/// What completes the last word of a command line, without what it means.
class Completion : public Help {
 protected:
  std::vector<std::string> completed(const std::string& words) const {
    const Outcome outcome = run("complete -- " + words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::vector<std::string> found;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);)
      found.push_back(line.substr(0, line.find('\t')));
    return found;
  }
};

TEST_F(Completion, KnowsEveryCommandAndOption) {
  const auto commands = completed("''");
  for (const auto& [command, help] : helps()) {
    if (command != "tune") {
      EXPECT_THAT(commands, Contains(command));
    }
    const auto options = completed(command == "tune" ? "-" : command + " -");
    for (const DescribedOption& option : options_in(help)) {
      if (!option.names.starts_with('-')) continue;
      EXPECT_THAT(options, Contains(option.names.substr(option.names.rfind(',') + 1))) << command;
    }
  }
  EXPECT_THAT(commands, Not(Contains("worker"))) << "it is not for people";
}

TEST_F(Completion, CompletesValues) {
  EXPECT_THAT(completed("best --regime b"), ElementsAre("burst", "both"));
  EXPECT_THAT(completed("export --recorded --format c"), ElementsAre("cpp", "csv", "cutlass"));
  EXPECT_THAT(completed("export --recorded --format b"), ElementsAre("bundle"));
  EXPECT_THAT(completed("bundle --format m"), ElementsAre("md"));
  EXPECT_THAT(completed("--space dec"), ElementsAre("decode", "decode-pdl", "@files"));
  EXPECT_THAT(completed("--space w"), ElementsAre("whole", "@files"));
  EXPECT_THAT(completed("plan --shapes llama7b-p"), ElementsAre("llama7b-prefill", "@files"));
  EXPECT_THAT(completed("replay --strategy model,stag"), ElementsAre("model,staged"));
  EXPECT_THAT(completed("advise --device h"), IsEmpty());
  EXPECT_THAT(completed("advise --device H20"), ElementsAre("H20", "H200"));
  EXPECT_THAT(completed("best --db ''"), ElementsAre("@files"));
  EXPECT_THAT(completed("report -o ''"), ElementsAre("@folders"));
  EXPECT_THAT(completed("merge a.db ''"), ElementsAre("@files"));
  EXPECT_THAT(completed("help pl"), ElementsAre("plan"));
  EXPECT_THAT(completed("--budget 20s be"), ElementsAre("best"));
  EXPECT_THAT(completed("best --format=js"), ElementsAre("--format=json"));
  EXPECT_THAT(completed("best --format = js"), ElementsAre("json")) << "as bash splits it";
  EXPECT_THAT(completed("best --nonsense=js"), IsEmpty());
}

/// Each word that is offered for an option is one that the program knows: what it says of a wrong
/// one names them all.
TEST_F(Completion, OffersTheWordsThatThereAre) {
  const std::pair<const char*, const char*> kLines[] = {
      {"best", "--format"},
      {"best", "--regime"},
      {"best", "--objective"},
      {"export -o x", "--format"},
      {"export -o x --format md", "--regime"},
      {"help", "--format"},
      {"replay", "--strategy"},
      {"advise --shapes 64x64x64", "--device"},
      {"plan --shapes 64x64x64 --explain", "--device"}};
  for (const auto& [line, option] : kLines) {
    SCOPED_TRACE(std::string(line) + " " + option);
    const auto words = completed(std::string(line) + " " + option + " ''");
    EXPECT_THAT(words, SizeIs(testing::Ge(2u)));
    const Outcome refused = run(std::string(line) + " " + option + " nonsense");
    EXPECT_EQ(refused.exit_code, 2);
    for (const std::string& word : words) EXPECT_THAT(refused.err, HasSubstr(word));
  }
}

TEST_F(Completion, WorksInBash) {
  if (std::system("command -v bash >/dev/null") != 0) GTEST_SKIP() << "no bash here";
  const std::string program = HGEMM_PROGRAM;
  const auto completed_by_bash = [&](const std::string& words) {
    write_file(folder() / "try.sh",
               "source <('" + program + "' help --format bash)\n" + "COMP_WORDS=(" + program + " " +
                   words + ") COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n" + "_hgemm_tune '" + program +
                   "'\n" + "printf '%s\\n' \"${COMPREPLY[@]}\" >words\n");
    EXPECT_EQ(std::system(("cd '" + folder().string() + "' && bash try.sh").c_str()), 0);
    return read_file(folder() / "words");
  };
  write_file(folder() / "my shapes.yaml", "");
  EXPECT_EQ(completed_by_bash("best --reg"), "--regime\n");
  EXPECT_EQ(completed_by_bash("best --regime = bu"), "burst\n");
  EXPECT_EQ(completed_by_bash("--shapes my"), "my shapes.yaml\n");
  EXPECT_EQ(completed_by_bash("--shapes squ"), "square\n");
}

TEST_F(Completion, ScriptsAskTheProgram) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_THAT(run(std::string("help --format ") + shell).out, HasSubstr("complete --")) << shell;
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
      EXPECT_NO_THROW(cli::chosen_config(at->str()));
    }
  }
  EXPECT_GE(labels, 4);
}

}  // namespace
}  // namespace hgemm
