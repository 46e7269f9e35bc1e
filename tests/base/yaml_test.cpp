// What is YAML for this program and what is not, whatever bytes a file has.
#include "base/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/error.h"

namespace hgemm {
namespace {

using namespace std::string_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

YamlFile parse(std::string_view text) { return YamlFile::parse(text, "f", "a list"); }

/// Without the file's name: "1:1: found ...".
std::string complaint_about(std::string_view text) {
  try {
    parse(text);
  } catch (const InputError& error) {
    const std::string message = error.what();
    EXPECT_THAT(message, StartsWith("f:"));
    return message.substr(2);
  }
  return "accepted";
}

std::string repeated(std::string_view piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += piece;
  return text;
}

TEST(Yaml, IsOneDocumentAndNothingAfterIt) {
  EXPECT_EQ(parse("[64x64x64]\n").root()[0].Scalar(), "64x64x64");
  EXPECT_EQ(parse("---\n- 1\n...\n").root()[0].Scalar(), "1");
  // yaml-cpp 0.7 takes the comma for a document, and for the next one, without end.
  EXPECT_THAT(complaint_about("[64x64x64], [64x64x64]\n"),
              AllOf(StartsWith("1:11: found \", [64x64x64]\" after the end"), HasSubstr("commas")));
  EXPECT_THAT(complaint_about(", [1]"), StartsWith("1:1: found \", [1]\" after the end"));
  EXPECT_THAT(complaint_about("- 1\n- 2\n[3]\n"), StartsWith("3:1: "));
  EXPECT_THAT(complaint_about("[1] [2]"), StartsWith("1:5: found \"[2]\" after the end"));
  EXPECT_THAT(complaint_about("- 1\n---\n- 2\n"), StartsWith("3:1: a second YAML document"));
  EXPECT_THAT(complaint_about("- 1\n---\n"), HasSubstr("a second YAML document"));
}

TEST(Yaml, IsText) {
  EXPECT_EQ(parse("\xef\xbb\xbf- a\r\n- b\t# tabulator\r\n").root().size(), 2u);
  EXPECT_EQ(parse("- \xc3\xa9\n").root()[0].Scalar(), "\xc3\xa9");
  for (const std::string& bad :
       {"- a\n- b\0"s, "- a\n- b\x1b[31m"s, "- a\n- b\x7f"s, "- a\n- b\xc2\x85"s, "- a\n- b\xff"s,
        "- a\n- b\xc3"s, "- a\n- b\rc"s, "- a\n- b\xe2\x80\xae"s,
        "- a\n- b\x04\nall: this is lost"s}) {
    EXPECT_THAT(complaint_about(bad), AllOf(StartsWith("2:4: found a byte that is no text"),
                                            HasSubstr("UTF-8 without control characters")))
        << bad;
  }
  EXPECT_THAT(complaint_about("\xff\xfe-\0 \0a\0"s), StartsWith("1:1: found a byte"));
  // What escapes make is no text of one line either.
  const YamlFile escaped = parse(R"(["\e[31m", "a\nb", "\0", "\x85", "fine"])");
  for (const int bad : {0, 1, 2, 3}) {
    EXPECT_THROW(escaped.text(escaped.root()[bad], "tag"), InputError) << bad;
  }
  EXPECT_EQ(escaped.text(escaped.root()[4], "tag"), "fine");
}

TEST(Yaml, IsNotDeep) {
  EXPECT_EQ(complaint_about(repeated("[", 32) + repeated("]", 32)), "accepted");
  for (const char* piece : {"[", "{a: ", "- ", "? ", "[{a: "}) {
    EXPECT_THAT(complaint_about(repeated(piece, 100'000)), HasSubstr("more than 32 lists and maps"))
        << piece;
  }
  std::string indented;
  for (int depth = 0; depth < 300; ++depth) indented += std::string(2 * depth, ' ') + "a:\n";
  EXPECT_THAT(complaint_about(indented), HasSubstr("more than 32 lists and maps"));
}

TEST(Yaml, IsNotLargeWithItsAliasesWrittenOut) {
  EXPECT_THAT(parse("[&a [1, 2], *a]").root()[1], SizeIs(2));
  std::string laughs = "- &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string name = std::to_string(i);
    laughs += "- &a" + name + " [" + repeated("*a" + std::to_string(i - 1) + ", ", 10) + "]\n";
  }
  EXPECT_THAT(complaint_about(laughs),
              AllOf(StartsWith("6:"), HasSubstr("more than 500000 values")));
  EXPECT_THAT(complaint_about("[" + repeated("1,", 600'000) + "]"),
              HasSubstr("more than 500000 values"));
  EXPECT_THAT(complaint_about("&a [1, *a]"),
              StartsWith("1:8: found an alias of what it is a part"));
  EXPECT_THAT(complaint_about("&a {b: [*a]}"), HasSubstr("found an alias of what it is a part of"));
  EXPECT_THAT(complaint_about("[*a]"), StartsWith("1:2: not YAML: "));
  EXPECT_THAT(complaint_about(std::string(3 << 20, ' ')), HasSubstr("larger than 2097152 bytes"));
}

TEST(Yaml, HugeWordsAreQuotedInPart) {
  const std::string huge(1'000'000, 'k');
  const YamlFile file = parse("? " + huge + "\n: 1\n");
  try {
    file.map(file.root(), "a shape", {"key"});
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(std::string(error.what()), AllOf(HasSubstr("unknown key \"kkk"), HasSubstr("...")));
    EXPECT_LT(std::string(error.what()).size(), 300u);
  }
}

}  // namespace
}  // namespace hgemm
