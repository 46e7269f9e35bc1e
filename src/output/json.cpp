#include "output/json.h"

#include "output/escape.h"

namespace hgemm {
namespace {

std::string field_text(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return csv_field(value.get_ref<const std::string&>());
  if (!value.is_array()) return compact(value);
  std::string words;
  for (const Json& word : value) {
    words +=
        (words.empty() ? "" : " ") + (word.is_string() ? word.get<std::string>() : compact(word));
  }
  return csv_field(words);
}

}  // namespace

Json problem_of(const GemmProblem& problem) {
  const Batch batch = problem.extents().batch;
  const auto stride = [&batch](long long elements) {
    return batch.count > 1 && !batch.by_pointers ? Json(elements) : Json();
  };
  return {{"m", problem.m},
          {"n", problem.n},
          {"k", problem.k},
          {"dtype", types_text(problem)},
          {"layout", to_string(problem.layout)},
          {"epilogue", to_string(problem.epilogue)},
          {"c_dtype", problem.c_type ? Json(to_string(*problem.c_type)) : Json()},
          {"lda", problem.leading_a()},
          {"ldb", problem.leading_b()},
          {"ldd", problem.leading_d()},
          {"batch", batch.count},
          {"stride_a", stride(batch.stride_a)},
          {"stride_b", stride(batch.stride_b)},
          {"stride_d", stride(batch.stride_d)},
          {"products", batch.by_pointers ? "pointers" : "strided"},
          {"data", to_string(problem.data)}};
}

std::string compact(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string dump(const Json& json) {
  // A tag is user text and may contain bytes that are not UTF-8, which must not throw here.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string as_csv(const Json& names, std::span<const Json> objects) {
  std::string out;
  const auto add_line = [&out](const Json& row, bool of_names) {
    const char* separator = "";
    for (const auto& [name, value] : row.items()) {
      out += separator + (of_names ? name : field_text(value));
      separator = ",";
    }
    out += '\n';
  };
  add_line(names, true);
  for (const Json& object : objects) add_line(object, false);
  return out;
}

}  // namespace hgemm
