#include "output/fields.h"

#include <fmt/format.h>

#include <utility>

namespace hgemm {

Cell cell_of(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  if (!value.is_array()) return compact(value);
  std::string words;
  for (const Json& word : value) words += (words.empty() ? "" : " ") + cell_of(word).text;
  return words.empty() ? "-" : words;
}

bool comes_before(const Json& given_a, const Json& given_b, bool descending) {
  const Json *a = &given_a, *b = &given_b;
  if (a->is_null() || b->is_null()) return !a->is_null() && b->is_null();
  if (descending) std::swap(a, b);
  if (a->is_array() && b->is_array()) return a->size() < b->size();
  if (a->is_string() && b->is_string()) {
    return in_natural_order(a->get_ref<const std::string&>(), b->get_ref<const std::string&>()) < 0;
  }
  return *a < *b;
}

}  // namespace hgemm
