#include "output/axes.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "families/family.h"
#include "output/emit.h"
#include "output/fields_page.h"
#include "results/compare.h"

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

TEST(Fields, ReferencePageIsCurrent) {
  EXPECT_EQ(text_of("docs/reference/fields.md"), format_fields(Format::kMarkdown))
      << "run scripts/write_reference.sh";
}

/// Names of the fields of an answer, in the order of the reference.
std::vector<std::string> names_in_reference(const std::string& of) {
  std::vector<std::string> names;
  for (const auto& row : nlohmann::json::parse(format_fields(Format::kJson))) {
    EXPECT_FALSE(row.at("meaning").get<std::string>().empty()) << row.dump();
    EXPECT_FALSE(row.at("type").get<std::string>().empty()) << row.dump();
    if (row.at("of") == of) names.push_back(row.at("field"));
  }
  return names;
}

std::vector<std::string> keys_of(const nlohmann::ordered_json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST(Fields, AreThoseOfTheAnswersAndSayWhenTheyAreNull) {
  using nlohmann::ordered_json;
  const BestRow unknown;
  const auto best = ordered_json::parse(format_best({&unknown, 1}, Format::kJson)).at(0);
  EXPECT_EQ(names_in_reference("best"), keys_of(best));
  for (const auto& row : nlohmann::json::parse(format_fields(Format::kJson))) {
    if (row.at("of") != "best") continue;
    const std::string name = row.at("field");
    EXPECT_EQ(best.at(name).is_null(), !row.at("null_if").is_null()) << name;
  }

  Comparison comparison;
  comparison.rows.emplace_back();
  comparison.repeatability.emplace_back();
  const auto compared = ordered_json::parse(format_comparison(comparison, Format::kJson));
  EXPECT_EQ(names_in_reference("compare"), keys_of(compared.at("rows").at(0)));
  EXPECT_EQ(names_in_reference("compare.repeatability"), keys_of(compared["repeatability"].at(0)));
  auto members = names_in_reference("compare.object");
  members.insert(members.begin(), "rows");
  EXPECT_EQ(members, keys_of(compared));
}

}  // namespace
}  // namespace hgemm
