#include "output/axes.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "families/family.h"

namespace hgemm {
namespace {

using testing::HasSubstr;

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(HGEMM_SOURCE_DIR) + "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Axes, ReferencePageIsCurrent) {
  EXPECT_EQ(text_of("docs/reference/axes.md"), format_axes(Format::kMarkdown))
      << "run scripts/write_reference.sh";
}

TEST(Axes, EveryFormatHasEveryAxisOfEveryFamily) {
  const auto json = nlohmann::json::parse(format_axes(Format::kJson));
  const std::string csv = format_axes(Format::kCsv);
  const std::string table = format_axes(Format::kTable);
  std::size_t rows = 0;
  for (const std::string_view family : family_names()) {
    EXPECT_THAT(table, HasSubstr(std::string(family) + "\n"));
    for (const AxisText& axis : axes_of(family)) {
      ASSERT_LT(rows, json.size());
      EXPECT_EQ(json[rows].at("family"), family);
      EXPECT_EQ(json[rows].at("axis"), axis.name);
      EXPECT_EQ(json[rows].at("default").is_null(), axis.otherwise.empty());
      EXPECT_THAT(csv, HasSubstr(std::string(family) + "," + std::string(axis.name) + ","));
      ++rows;
    }
  }
  EXPECT_EQ(rows, json.size());
}

}  // namespace
}  // namespace hgemm
