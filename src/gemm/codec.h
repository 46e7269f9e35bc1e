// The one codec of problems: a table with a row for each attribute, from which the text key, YAML,
// JSON and SQL columns are written and read. An attribute that is added to GemmProblem gets a row
// here, a check in why_unsupported() until kernels can compute it, and a database migration.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "gemm/problem.h"

namespace hgemm {

/// A limit for every extent and leading dimension that is written by people.
inline constexpr std::int64_t kMaxExtent = std::int64_t{1} << 30;

/// One attribute of a problem.
struct ProblemField {
  std::string_view name;    ///< the key in YAML and JSON, the column in SQL: "lda"
  std::string_view prefix;  ///< what its field in the text key begins with: "lda"
  std::string_view values;  ///< which there are, for messages: "TN"
  bool number;              ///< written as a number in YAML, JSON and SQL, else as a word
  std::string_view help;
  /// The value in words, in full: the leading dimension of rows without padding, too.
  std::string (*print)(const GemmProblem&);
  /// False if the word is none of its values.
  bool (*parse)(GemmProblem&, std::string_view word);
  /// Left out of the text key; never true of m, n and k, which begin it.
  bool (*is_default)(const GemmProblem&);
};

/// m, n and k first; then in the order of the text key.
std::span<const ProblemField> problem_fields();

/// The row of that name, or nullptr. "dtype" is none: it is the type of A, B and D together.
const ProblemField* find_problem_field(std::string_view name);

/// "MxNxK[.field...]", each field a type ("fp16": of A, B and D, which must come first), or a
/// prefix of the table with its value ("lda4104", "dfp32"). `types` is the type where no field says
/// it; `place` begins messages. Throws InputError. The inverse of to_string(problem).
GemmProblem parse_problem(std::string_view text, DataType types = DataType::kBf16,
                          const std::string& place = "the problem");

/// Throws InputError if a leading dimension is shorter than a row; `place` begins the message.
void check_padding(const GemmProblem& problem, const std::string& place);

/// Every attribute by its name, and "problem" (the key).
void to_json(nlohmann::json& json, const GemmProblem& problem);
/// From "problem", with "tag" and "weight" where they are. Throws InputError.
void from_json(const nlohmann::json& json, GemmProblem& problem);

}  // namespace hgemm
