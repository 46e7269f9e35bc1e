// Texts of others in each language that is written.
#include "output/escape.h"

#include <gmock/gmock.h>

namespace hgemm {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kHostile =
    "a\nb\r\tc\x1b[31m$(touch x)`touch y`\"'\\*/ |<script>\xff\xe2\x80\xae&../..\xf0\x9f\x98\x80";

TEST(Escape, OneLineHasNoControlCharacters) {
  const std::string line = one_line(kHostile);
  EXPECT_THAT(line, Not(testing::ContainsRegex("[\n\r\t\x1b]")));
  EXPECT_THAT(line, Not(HasSubstr("\xff")));
  EXPECT_THAT(line, HasSubstr("\xf0\x9f\x98\x80")) << "other characters stay";
}

TEST(Escape, CommentsHaveNothingThatMeansAnything) {
  EXPECT_EQ(comment_text("NVIDIA H200 (SXM), 580.95-x_y"), "NVIDIA H200 (SXM), 580.95-x_y");
  EXPECT_THAT(comment_text(kHostile), Not(testing::ContainsRegex("[\n\r\t\x1b$`'\\*|<>&]")));
  EXPECT_EQ(comment_lines({{"gpu", "a\nb"}, {"driver", {{"min", "1"}, {"max", "2\n3"}}}}),
            "# gpu: a?b\n# driver: {\"min\":\"1\",\"max\":\"2?n3\"}\n");
}

TEST(Escape, PythonLiterals) {
  EXPECT_EQ(python_literal({{"a", 1}, {"b", {true, nullptr, "x"}}, {"c", Json::array()}}),
            "{\n    \"a\": 1,\n    \"b\": [\n        True,\n        None,\n        \"x\"\n    ],\n"
            "    \"c\": []\n}");
  EXPECT_EQ(python_literal("a\n\"\\\x1b"), R"("a?\"\\?")");
}

TEST(Escape, CsvFields) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
  EXPECT_EQ(csv_field("a\nb\x1b"), "a?b?");
}

TEST(Escape, MarkdownIsShownAsItIs) {
  EXPECT_EQ(markdown_text("decode/a_b 1.0 [0.9, 1.1] (x)"), "decode/a_b 1.0 [0.9, 1.1] (x)");
  EXPECT_EQ(markdown_text("a|b\n`c`<d>&\\"), "a|b?\\`c\\`\\<d>\\&\\\\");
  EXPECT_EQ(markdown_text("![x](http://y)"), "![x]\\(http://y)");
  EXPECT_EQ(markdown_cell("a|<b>"), "a\\|\\<b>");
  EXPECT_EQ(markdown_cell("`a.b --c`"), "`a.b --c`");
  EXPECT_EQ(markdown_cell("`a|<`"), "`a\\|<`");
  EXPECT_EQ(markdown_cell("`a` <b> `c`"), "\\`a\\` \\<b> \\`c\\`");
}

}  // namespace
}  // namespace hgemm
