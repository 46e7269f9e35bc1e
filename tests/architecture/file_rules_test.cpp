// How long files and functions are, which folders name no kernel family, what cli/ holds, and that
// no two headers define a type of one name. The rules are tried on made-up files first, then on the
// real ones.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/architecture/sources.h"

namespace hgemm {
namespace {

namespace fs = std::filesystem;
using test::Sources;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Strings = std::vector<std::string>;

constexpr std::ptrdiff_t kMaxLines = 600;
constexpr std::size_t kMaxFunctionLines = 80;
const std::set<std::string> kGenerated = {"kernels/common/wgmma.cuh",
                                          "kernels/common/wgmma_fp8.cuh"};

Strings long_files(const Sources& sources) {
  Strings found;
  for (const auto& [path, text] : sources) {
    const auto lines = std::count(text.begin(), text.end(), '\n');
    if (lines <= kMaxLines || kGenerated.contains(path)) continue;
    found.push_back(fmt::format("{}: {} lines", path, lines));
  }
  return found;
}

// ---- Functions, found by what clang-format makes of them ----

struct Line {
  std::size_t indent = 0;
  std::string_view text;  ///< without white space around it
};
std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    line.remove_prefix(indent);
    line.remove_suffix(line.size() - (line.find_last_not_of(' ') + 1));
    lines.push_back({indent, line});
    begin = end + 1;
  }
  return lines;
}

/// Nothing of a statement that goes on in the next line.
bool ends_something(std::string_view line) {
  return line.empty() || line.starts_with("//") || line.starts_with('#') || line.ends_with(';') ||
         line.ends_with('{') || line.ends_with('}') || line.ends_with(':');
}

/// Whether a block that begins so and ends with a bare brace is a function's body.
bool begins_function(std::string_view head) {
  static const std::regex kOther(
      "(\\}|\\{|(namespace|class|struct|union|enum|if|else|for|while|switch|case|default|do|try|"
      "catch|extern)\\b).*");
  return !std::regex_match(head.begin(), head.end(), kOther);
}

Strings long_functions(const Sources& sources) {
  struct Block {
    std::size_t indent, first;
  };
  Strings found;
  for (const auto& [path, text] : sources) {
    const std::vector<Line> lines = lines_of(text);
    std::vector<Block> open;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const Line& line = lines[i];
      if (line.text.empty() || line.text.starts_with("//")) continue;
      if (line.text.starts_with('}')) {
        while (!open.empty() && open.back().indent > line.indent) open.pop_back();
        if (!open.empty() && open.back().indent == line.indent) {
          const std::size_t first = open.back().first;
          const std::size_t length = i - first + 1;
          open.pop_back();
          if (line.text == "}" && length > kMaxFunctionLines &&
              begins_function(lines[first].text)) {
            found.push_back(fmt::format("{}:{}: {} lines", path, first + 1, length));
          }
        }
      }
      if (!line.text.ends_with('{')) continue;
      std::size_t first = i;
      while (first > 0 && !ends_something(lines[first - 1].text)) --first;
      open.push_back({lines[first].indent, first});
    }
  }
  return found;
}

// ---- Families ----

/// Code that works with any family: a new one changes nothing here.
const std::set<std::string> kWithoutFamilies = {"search", "store", "compile", "worker", "tune"};
/// Reads space files that were written when there was one family.
const std::set<std::string> kKnowsFamilies = {"src/search/legacy_grid.h",
                                              "src/search/legacy_grid.cpp"};

Strings families_named(const Sources& sources) {
  static const std::regex kFamily(
      R"re(\b(Tiled|SwapAb|Gemv)(Config|Kernel|Rule|Smem)\b|"(tiled|swap_ab|gemv)["./])re"
      R"re(|"(kernels|families)/(tiled|swap_ab|gemv)/)re");
  Strings found;
  for (const auto& [path, text] : sources) {
    if (!path.starts_with("src/") || kKnowsFamilies.contains(path)) continue;
    if (!kWithoutFamilies.contains((++fs::path(path).begin())->string())) continue;
    std::smatch match;
    if (std::regex_search(text, match, kFamily)) {
      found.push_back(fmt::format("{}: {}", path, match.str()));
    }
  }
  return found;
}

/// What a command shares with others is in program/.
Strings what_is_no_command(const Sources& sources) {
  static const std::regex kAdd(R"re(\nvoid add_[a-z_]+\(CLI::App& program, Command& chosen)re");
  Strings found;
  for (const auto& [path, text] : sources) {
    if (!path.starts_with("src/cli/") || path == "src/cli/commands.h") continue;
    if (!path.ends_with(".cpp") || !std::regex_search(text, kAdd)) found.push_back(path);
  }
  return found;
}

Sources sources_in(std::initializer_list<const char*> folders) {
  return test::sources_in(std::vector<const char*>(folders));
}

std::string repeated(const std::string& line, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += line;
  return text;
}

/// Types that several headers define in one namespace: "hgemm::Answer in a.h, b.h". The linker
/// merges their inline functions, also where no file includes both: a destructor of one type then
/// destroys objects of the other (AddressSanitizer found that).
Strings types_of_several_headers(const Sources& sources) {
  static const std::regex kNamespace("(namespace [\\w:]+) \\{");
  static const std::regex kType("(?:struct|class|enum class) (\\w+)(?: : [^;{]+| final)? \\{.*");
  std::map<std::string, std::set<std::string>> headers;
  for (const auto& [path, text] : sources) {
    if (!path.ends_with(".h")) continue;
    Strings scope;
    for (const Line& line : lines_of(text)) {
      if (line.indent > 0) continue;
      std::smatch match;
      const std::string code(line.text);
      if (std::regex_match(code, match, kNamespace)) scope.push_back(match[1]);
      if (code.starts_with("}  // namespace") && !scope.empty()) scope.pop_back();
      if (!std::regex_match(code, match, kType)) continue;
      headers[fmt::format("{}, {}", fmt::join(scope, ", "), match[1].str())].insert(path);
    }
  }
  Strings found;
  for (const auto& [type, files] : headers) {
    if (files.size() > 1) found.push_back(fmt::format("{} in {}", type, fmt::join(files, ", ")));
  }
  return found;
}

TEST(FileRules, LongFilesAreFound) {
  EXPECT_THAT(long_files({{"src/base/long.cpp", std::string(601, '\n')},
                          {"src/base/short.cpp", std::string(600, '\n')},
                          {"kernels/common/wgmma.cuh", std::string(2000, '\n')}}),
              ElementsAre("src/base/long.cpp: 601 lines"));
}

TEST(FileRules, LongFunctionsAreFound) {
  const std::string body = repeated("  if (a) {\n    b();\n  } else {\n  }\n", 20);
  EXPECT_THAT(long_functions({{"f.cpp", "namespace {\n\nint f(int a,\n      int b) {\n" + body +
                                            "}\n\n}  // namespace\n"}}),
              ElementsAre("f.cpp:3: 83 lines"));
  EXPECT_THAT(long_functions({{"f.h", "struct F {\n  F() : a_(1) {\n" + repeated("    b();\n", 79) +
                                          "  }\n  int a_;\n};\n"}}),
              ElementsAre("f.h:2: 81 lines"));
  EXPECT_THAT(long_functions({{"f.cpp", "TEST(A, B) {\n" + repeated("  b();\n", 78) + "}\n"}}),
              IsEmpty());
  EXPECT_THAT(long_functions({{"f.cpp", "class C {\n" + repeated("  int b();\n", 90) + "};\n"},
                              {"g.cpp", "constexpr int kAll[] = {\n" + repeated("    1,\n", 90) +
                                            "};\nnamespace {\n" + repeated("int b();\n", 90) +
                                            "}  // namespace\n"}}),
              IsEmpty());
}

TEST(FileRules, NamedFamiliesAreFound) {
  EXPECT_THAT(families_named({{"src/store/a.cpp", "std::get<SwapAbConfig>(config)"}}),
              ElementsAre("src/store/a.cpp: SwapAbConfig"));
  EXPECT_THAT(families_named({{"src/tune/a.cpp", "if (name == \"gemv\") return;"}}),
              ElementsAre(HasSubstr("gemv")));
  EXPECT_THAT(families_named({{"src/compile/a.cpp", "#include \"tiled/kernel.cuh\""}}),
              ElementsAre(HasSubstr("tiled")));
  EXPECT_THAT(families_named({{"src/compile/a.cpp", "#include \"families/tiled/family.h\""}}),
              ElementsAre(HasSubstr("families/tiled/")));
  EXPECT_THAT(
      families_named({{"src/families/family.cpp", "TiledConfig"},
                      {"src/search/legacy_grid.cpp", "\"gemv\""},
                      {"src/search/space.cpp", "// tiled or not\n#include \"families/visit.h\""}}),
      IsEmpty());
}

TEST(FileRules, WhatIsNoCommandIsFound) {
  const std::string add = "\nvoid add_best(CLI::App& program, Command& chosen) {}\n";
  EXPECT_THAT(what_is_no_command({{"src/cli/best.cpp", add},
                                  {"src/cli/commands.h", ""},
                                  {"src/cli/progress.h", add},
                                  {"src/cli/seed.cpp", "\nint seed() { return 0; }\n"},
                                  {"src/program/seed.cpp", ""}}),
              ElementsAre("src/cli/progress.h", "src/cli/seed.cpp"));
}

TEST(FileRules, TypesOfSeveralHeadersAreFound) {
  const std::string answer =
      "namespace hgemm {\nstruct Answer {\n  int a;\n};\n}  // namespace hgemm\n";
  const std::string other = "namespace other {\nstruct Answer {\n};\n}  // namespace other\n";
  EXPECT_THAT(types_of_several_headers({{"a.h", answer}, {"b.h", answer}, {"c.h", other}}),
              ElementsAre("namespace hgemm, Answer in a.h, b.h"));
  EXPECT_THAT(types_of_several_headers({{"a.h", answer}, {"b.h", "struct Answer;\n"}}), IsEmpty());
}

TEST(FileRules, NoTwoHeadersDefineATypeOfOneName) {
  EXPECT_THAT(
      types_of_several_headers(sources_in({"src", "kernels", "package", "runtime", "include"})),
      IsEmpty());
}

TEST(FileRules, NoFileIsTooLong) {
  EXPECT_THAT(long_files(sources_in({"src", "kernels", "package", "runtime", "tests"})), IsEmpty());
}

TEST(FileRules, NoFunctionIsTooLong) {
  EXPECT_THAT(long_functions(sources_in({"src", "kernels", "package", "runtime", "tests"})),
              IsEmpty());
}

TEST(FileRules, CodeForAnyFamilyNamesNone) {
  EXPECT_THAT(families_named(sources_in({"src"})), IsEmpty());
}

TEST(FileRules, CliHoldsOnlyCommands) {
  const Sources sources = sources_in({"src"});
  EXPECT_TRUE(sources.contains("src/cli/commands.h"));
  EXPECT_THAT(what_is_no_command(sources), IsEmpty());
}

}  // namespace
}  // namespace hgemm
