// Output for programs: JSON objects, and the same as CSV.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "gemm/problem.h"

namespace hgemm {

using Json = nlohmann::ordered_json;

/// Null for nullopt and for NaN or infinity, which JSON does not have.
template <class T>
Json number(const std::optional<T>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json();
}
inline Json number(double value) { return number(std::optional(value)); }

/// The problem as m n k dtype layout lda ldb ldd data, without tag and weight.
Json problem_of(const GemmProblem& problem);

std::string dump(const Json& json);
/// On one line, without a line break.
std::string compact(const Json& json);

/// A line with the column names, which are the keys of `names`, then one line for each object.
std::string as_csv(const Json& names, std::span<const Json> objects);

}  // namespace hgemm
