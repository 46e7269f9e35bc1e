// The fields of an answer's rows. One table of fields defines JSON, CSV, the columns of tables, the
// names of --columns and --sort, and the reference page.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "output/json.h"
#include "output/style.h"
#include "output/table.h"

namespace hgemm {

inline constexpr int kNotShown = -1;

template <class Row>
struct Field {
  using Rows = std::vector<const Row*>;
  using Value = Json (*)(const Row&);
  using Shown = Cell (*)(const Row&);
  using Over = std::string (*)(const Rows&);

  std::string_view name;     ///< in JSON and CSV, for --columns and --sort
  std::string_view type;     ///< "number", "integer", "text", "list of texts", "true or false"
  std::string_view unit;     ///< "" if it has none
  std::string_view meaning;  ///< in words
  std::string_view null_if;  ///< when it is null; "": never
  Value value;

  std::string_view heading = "";  ///< in tables; "": the name
  Shown cell = nullptr;           ///< in tables; null: shows the value
  int place = kNotShown;          ///< position among the columns that are shown by default
  int rank = Table::kOptional;    ///< Table::Column::rank
  Table::Fit fit = Table::Fit::kWhole;
  bool right = true;            ///< the cell is a number
  bool of_problem = false;      ///< the same for all rows of a problem and environment
  bool only_in_tables = false;  ///< joins two fields in one column; not in JSON and CSV
  Over mean = nullptr;          ///< mean over rows of one regime; null: no mean
  Over total = nullptr;         ///< weighted total over rows of one regime; null: no total

  std::string_view title() const { return heading.empty() ? name : heading; }

  // ---- To write one down ----

  static Field of(std::string_view name, std::string_view type, std::string_view unit,
                  std::string_view meaning, std::string_view null_if, Value value) {
    Field field{name, type, unit, meaning, null_if, value};
    field.right = type == "number" || type == "integer";
    return field;
  }
  Field at(int where, int how_soon, std::string_view head, Shown shown = nullptr) const {
    Field field = *this;
    field.place = where;
    field.rank = how_soon;
    field.heading = head;
    field.cell = shown;
    return field;
  }
  Field giving_way(Table::Fit how) const {
    Field field = *this;
    field.fit = how;
    return field;
  }
  Field numeric() const {
    Field field = *this;
    field.right = true;
    return field;
  }
  Field for_problem() const {
    Field field = *this;
    field.of_problem = true;
    return field;
  }
  Field in_tables_only() const {
    Field field = *this;
    field.only_in_tables = true;
    return field;
  }
  Field over(Over means, Over totals) const {
    Field field = *this;
    field.mean = means;
    field.total = totals;
    return field;
  }
};

/// A value as a cell.
Cell cell_of(const Json& value);

/// Whether a value sorts before another: numbers by size, lists by length, text in natural order.
/// Null comes last in both directions.
bool comes_before(const Json& a, const Json& b, bool descending);

template <class Row>
Cell cell_of(const Field<Row>& field, const Row& row) {
  return field.cell != nullptr ? field.cell(row) : cell_of(field.value(row));
}

/// The field of that name or heading. Throws InputError that names `option` and the known ones.
template <class Row>
const Field<Row>& find_field(std::span<const Field<Row>> fields, const std::string& name,
                             std::string_view option, bool in_tables) {
  std::vector<std::string> known;
  for (const Field<Row>& field : fields) {
    if (field.only_in_tables && !in_tables) continue;
    if (field.name == name || field.heading == name) return field;
    known.emplace_back(field.name);
  }
  throw_unknown_column(option, name, known);
}

/// The fields of style.columns, in this order. Without any: all fields for JSON and CSV; for tables
/// the fields that have a place, ordered by it.
template <class Row>
std::vector<const Field<Row>*> fields_of(std::span<const Field<Row>> fields, const Style& style) {
  const bool in_tables = !for_programs(style.format);
  std::vector<const Field<Row>*> chosen;
  for (const std::string& name : style.columns) {
    const Field<Row>* field = &find_field(fields, name, "--columns", in_tables);
    if (std::ranges::find(chosen, field) == chosen.end()) chosen.push_back(field);
  }
  if (!chosen.empty()) return chosen;
  for (const Field<Row>& field : fields) {
    if (in_tables ? field.place != kNotShown : !field.only_in_tables) chosen.push_back(&field);
  }
  if (in_tables)
    std::ranges::stable_sort(chosen, {}, [](const auto* field) { return field->place; });
  return chosen;
}

/// A column of a table for people.
template <class Row>
Table::Column column_of(const Field<Row>& field, const std::string& group = "") {
  return {.name = std::string(field.title()),
          .right = field.right,
          .fit = field.fit,
          .rank = field.rank,
          .key = std::string(field.name),
          .group = group};
}

template <class Row>
Json object_of(const std::vector<const Field<Row>*>& fields, const Row& row) {
  Json object = Json::object();
  for (const Field<Row>* field : fields) object[std::string(field->name)] = field->value(row);
  return object;
}

/// A line of names, then one line for each row.
template <class Row>
std::string csv_of(const std::vector<const Field<Row>*>& fields, std::span<const Json> objects) {
  Json names = Json::object();
  for (const Field<Row>* field : fields) names[std::string(field->name)] = nullptr;
  return as_csv(names, objects);
}

/// Throws InputError if the style names an unknown field.
template <class Row>
void check_columns(std::span<const Field<Row>> fields, const Style& style) {
  fields_of(fields, style);
  for (const SortKey& key : style.sort) find_field(fields, key.column, "--sort", false);
}

/// Sorts by the keys of the style, the first key first. Rows that are equal in all keys keep their
/// order.
template <class Row>
void sort_rows(std::vector<Row>& rows, std::span<const Field<Row>> fields, const Style& style) {
  for (auto key = style.sort.rbegin(); key != style.sort.rend(); ++key) {
    const Field<Row>& field = find_field(fields, key->column, "--sort", false);
    std::ranges::stable_sort(rows, [&](const Row& a, const Row& b) {
      return comes_before(field.value(a), field.value(b), key->descending);
    });
  }
}

/// One row of the field reference.
struct FieldText {
  std::string_view name, type, unit, meaning, null_if, heading;
};
template <class Row>
std::vector<FieldText> texts_of(std::span<const Field<Row>> fields) {
  std::vector<FieldText> texts;
  for (const Field<Row>& field : fields) {
    if (field.only_in_tables) continue;
    texts.push_back({field.name, field.type, field.unit, field.meaning, field.null_if,
                     field.place == kNotShown ? "" : field.title()});
  }
  return texts;
}

}  // namespace hgemm
