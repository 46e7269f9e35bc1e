// How tables give way to a terminal: what is left out, what is wrapped, and that nothing is wider.
#include "output/table.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/error.h"
#include "output/display_width.h"
#include "output/emit.h"
#include "results/best.h"
#include "store/store.h"

namespace hgemm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

constexpr const char* kLongLabel = "swap_ab.bm64.bn64.bk128.q3.d1.staged.single.p128.pdl";

Style terminal(std::size_t width) {
  Style style;
  style.width = width;
  return style;
}

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (const std::string& line : lines_in(text)) widest = std::max(widest, display_width(line));
  return widest;
}

std::string shown(const Table& table, const Style& style) {
  return joined(std::vector{render(table, style)}, style);
}

Table small_table() {
  Table table;
  table.columns = {{"shape", false},
                   {.name = "config", .right = false, .fit = Table::Fit::kBelow, .rank = 0},
                   {.name = "x cuBLAS", .rank = 1},
                   {.name = "SM MHz", .rank = 20},
                   {.name = "tag", .right = false, .rank = 12}};
  table.rows = {{"8x8x8", kLongLabel, Cell("1.5", Tone::kGood), "1500", "first"},
                {"16x16x16", "gemv.v1", Cell("0.9", Tone::kBad), "900", "second"}};
  table.summaries = {{"geomean of 2 shapes", {"", "", "1.162", "", ""}}};
  return table;
}

TEST(DisplayWidth, CountsCellsOfATerminal) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("größe"), 5u);
  EXPECT_EQ(display_width("行列"), 4u) << "wide characters";
  EXPECT_EQ(display_width("e\u0301"), 1u) << "a combining accent";
}

TEST(Lines, BreakAtSpacesElseBeforeDotsElseAnywhere) {
  EXPECT_THAT(lines_of("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(lines_of("2048x2048x2048.lda2049.ldb2049", 24),
              ElementsAre("2048x2048x2048.lda2049", ".ldb2049"));
  EXPECT_THAT(lines_of("abcdefgh", 3), ElementsAre("abc", "def", "gh"));
  EXPECT_THAT(lines_of("行列行列", 5), ElementsAre("行列", "行列"));
  EXPECT_THAT(lines_of("", 5), ElementsAre(""));
  EXPECT_EQ(wrapped("- one two three\nfour\n", 10), "- one two\n  three\nfour\n");
}

TEST(Table, IsInFullWhereNobodyLimitsIt) {
  EXPECT_EQ(shown(small_table(), {}),
            R"(shape     config                                                x cuBLAS  SM MHz  tag
--------  ----------------------------------------------------  --------  ------  ------
8x8x8     swap_ab.bm64.bn64.bk128.q3.d1.staged.single.p128.pdl       1.5    1500  first
16x16x16  gemv.v1                                                    0.9     900  second
--------  ----------------------------------------------------  --------  ------  ------
geomean of 2 shapes                                                1.162
)");
}

TEST(Table, LeavesOutWhatMattersLeastAndSaysSo) {
  const std::string text = shown(small_table(), terminal(80));
  EXPECT_EQ(text,
            R"(shape     config                                                x cuBLAS  tag
--------  ----------------------------------------------------  --------  ------
8x8x8     swap_ab.bm64.bn64.bk128.q3.d1.staged.single.p128.pdl       1.5  first
16x16x16  gemv.v1                                                    0.9  second
--------  ----------------------------------------------------  --------  ------
geomean of 2 shapes                                                1.162
Left out at 80 columns: sm_mhz. --wide shows all columns, --columns those that
  it names.
)");
  Style wide = terminal(80);
  wide.all_columns = true;
  EXPECT_EQ(shown(small_table(), wide), shown(small_table(), {}));
}

TEST(Table, PutsALongColumnBelowBeforeItLosesOneThatMatters) {
  EXPECT_EQ(shown(small_table(), terminal(60)),
            R"(shape     x cuBLAS  SM MHz  tag
  config
--------  --------  ------  ------
8x8x8          1.5    1500  first
  swap_ab.bm64.bn64.bk128.q3.d1.staged.single.p128.pdl
16x16x16       0.9     900  second
  gemv.v1
--------  --------  ------  ------
geomean of 2 shapes
             1.162
)");
}

TEST(Table, WrapsFreeTextInItsColumn) {
  Table table;
  table.columns = {{"axis", false},
                   {.name = "meaning", .right = false, .fit = Table::Fit::kWrapped}};
  table.rows = {{"bm", "rows of a tile of D, of which one CTA computes all"}};
  EXPECT_EQ(shown(table, terminal(40)),
            R"(axis  meaning
----  ----------------------------------
bm    rows of a tile of D, of which one
      CTA computes all
)");
}

TEST(Table, TakesTheColumnsThatAreNamedInTheirOrder) {
  Style style;
  style.columns = {"x cuBLAS", "shape"};
  EXPECT_THAT(lines_in(shown(small_table(), style))[2], "     1.5  8x8x8");
  style.columns = {"x_cublas", "shape"};
  EXPECT_THAT(lines_in(shown(small_table(), style))[0], "x cuBLAS  shape") << "by its key";
  style.columns = {"shape", "sm_mhz"};
  EXPECT_THAT(shown(small_table(), style), HasSubstr("\n8x8x8       1500\n"));
  style.columns = {"sm_mzh"};
  EXPECT_THAT([&] { shown(small_table(), style); },
              ThrowsMessage<InputError>(
                  AllOf(HasSubstr("--columns \"sm_mzh\""), HasSubstr("did you mean sm_mhz?"),
                        HasSubstr("known are shape, config, x_cublas, sm_mhz, tag"))));
}

TEST(Table, IsSortedByNumbersAndByNamesAsPeopleReadThem) {
  const auto first = [](const std::vector<SortKey>& keys) {
    Style style;
    style.sort = keys;
    return lines_in(shown(small_table(), style))[2];
  };
  EXPECT_THAT(first({{"shape", false}}), StartsWith("8x8x8")) << "8 is before 16";
  EXPECT_THAT(first({{"shape", true}}), StartsWith("16x16x16"));
  EXPECT_THAT(first({{"sm_mhz", false}}), StartsWith("16x16x16")) << "900 is before 1500";
  EXPECT_THROW(first({{"nothing", false}}), InputError);

  Table table;
  table.columns = {{"name", false}, {"a"}, {"b"}};
  table.rows = {{"w", "1", "2"}, {"x", "-", "1"}, {"y", "1", "1"}, {"z", "0", "2"}};
  const auto names = [&table](const char* by) {
    Style style;
    style.sort = parse_sort(by);
    std::string all;
    for (const std::string& line : lines_in(shown(table, style))) all += line[0];
    return all.substr(2);
  };
  EXPECT_EQ(names("a"), "zwyx") << "equal ones stay in their order, what is not known comes last";
  EXPECT_EQ(names("a:desc"), "wyzx");
  EXPECT_EQ(names("b,a:desc"), "yxwz");
}

TEST(Formats, AreNamed) {
  EXPECT_EQ(parse_format("table"), Format::kTable);
  EXPECT_EQ(parse_format("md"), Format::kMarkdown);
  EXPECT_EQ(parse_format("json"), Format::kJson);
  EXPECT_EQ(parse_format("csv"), Format::kCsv);
  EXPECT_THAT([] { parse_format("yaml"); },
              ThrowsMessage<InputError>(HasSubstr("table, md, json or csv")));
}

TEST(Sort, SaysWhatAnOrderIs) {
  EXPECT_THAT(parse_sort(""), IsEmpty());
  EXPECT_THAT([] { parse_sort("time_us:down"); },
              ThrowsMessage<InputError>(HasSubstr("the order is asc or desc")));
}

TEST(Table, ColoursOnlyWhereAskedForAndNeverMarkdown) {
  Style style;
  EXPECT_THAT(shown(small_table(), style), Not(HasSubstr("\x1b")));
  const std::string plain = shown(small_table(), style);
  style.color = true;
  std::string text = shown(small_table(), style);
  EXPECT_THAT(text, AllOf(HasSubstr("\x1b[32m1.5\x1b[0m"), HasSubstr("\x1b[31m0.9\x1b[0m")));
  for (const std::string code : {"\x1b[32m", "\x1b[31m", "\x1b[0m"}) {
    for (auto at = text.find(code); at != text.npos; at = text.find(code)) {
      text.erase(at, code.size());
    }
  }
  EXPECT_EQ(text, plain) << "colour moves nothing";
  style.format = Format::kMarkdown;
  EXPECT_THAT(shown(small_table(), style), Not(HasSubstr("\x1b")));
}

/// The databases that ship with the program and have races.
std::vector<std::vector<BestRow>> recorded_rows() {
  std::vector<std::vector<BestRow>> all;
  const auto folder = std::filesystem::path(HGEMM_SOURCE_DIR) / "results/h200";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".db") continue;
    const auto races = Store::open(entry.path().string(), Store::Mode::kReadOnly).races();
    if (!races.empty()) all.push_back(best_rows(races));
  }
  return all;
}

TEST(Recorded, FitTerminalsOfEveryWidth) {
  const auto all = recorded_rows();
  ASSERT_GE(all.size(), 5u);
  for (const auto& rows : all) {
    for (const std::size_t width : {60u, 80u, 120u, 200u}) {
      const std::string text = format_best(rows, terminal(width));
      EXPECT_LE(widest_line(text), width) << text;
      for (const BestRow& row : rows) {
        if (!row.label || width < 80) continue;
        if (row.label->size() + 2 > width) {  // with its indent it goes on in the next line
          std::string letters = text;
          std::erase_if(letters, [](char c) { return c == ' ' || c == '\n'; });
          EXPECT_THAT(letters, HasSubstr(*row.label)) << "at " << width << ": no letter is lost";
          continue;
        }
        EXPECT_THAT(text, HasSubstr(*row.label)) << "at " << width << ": labels are to be copied";
      }
      for (const char* heading : {"shape", "config", "x cuBLAS"}) {
        EXPECT_THAT(text, HasSubstr(heading)) << width;
      }
    }
  }
}

TEST(Recorded, AreWholeWhereAProgramReadsThem) {
  for (const auto& rows : recorded_rows()) {
    const std::string text = format_best(rows, Format::kTable);
    EXPECT_THAT(text, Not(HasSubstr("Left out")));
    Style wide = terminal(80);
    wide.all_columns = true;
    for (const char* heading : {"tag", "TFLOP/s", "SM MHz"}) {
      EXPECT_THAT(text, HasSubstr(heading));
      EXPECT_THAT(format_best(rows, wide), HasSubstr(heading));
    }
  }
}

}  // namespace
}  // namespace hgemm
