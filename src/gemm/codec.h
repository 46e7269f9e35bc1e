// The only codec of problems. Its table has a row for each attribute; the text key, YAML, JSON and
// SQL columns are written and read from that table. A new attribute of GemmProblem needs a row
// here, a check in why_unsupported() until kernels can compute it, and a database migration unless
// it is in the key alone.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "gemm/problem.h"

namespace hgemm {

/// One attribute of a problem.
struct ProblemField {
  std::string_view name;    ///< the key in YAML and JSON, the column in SQL: "lda"
  std::string_view prefix;  ///< start of its field in the text key: "lda"
  std::string_view values;  ///< the possible values, for messages: "TN"
  bool number;              ///< true: a number in YAML, JSON and SQL; false: a word
  std::string_view help;
  bool column = true;  ///< false: the key of a database's problem has it, and no column repeats it
  /// The value as text, always explicit: also the leading dimension of rows without padding, and
  /// the stride of products without a gap. (A single product has stride 0.)
  std::string (*print)(const GemmProblem&);
  /// Returns false if `word` is not a value of the attribute.
  bool (*parse)(GemmProblem&, std::string_view word);
  /// True if the text key leaves the attribute out. Always false for m, n and k, which start the
  /// key.
  bool (*is_default)(const GemmProblem&);
};

/// All attributes: m, n and k first, then the others in the order of the text key.
std::span<const ProblemField> problem_fields();

/// The row of that name, or nullptr. "dtype" has no row: it sets the types of A, B and D together.
const ProblemField* find_problem_field(std::string_view name);

/// Parses "MxNxK[.field...]"; the inverse of to_string(problem). A field is a type ("fp16", for A,
/// B and D; it must come first), the data ("zeros"), or a prefix of the table with its value
/// ("lda4104", "dfp32", "sa128").
/// `types` is the type of operands that no field sets; `place` starts the messages. Throws
/// InputError.
GemmProblem parse_problem(std::string_view text, DataType types = DataType::kBf16,
                          const std::string& place = "the problem");

/// Throws InputError if a leading dimension is shorter than a row, if there is a stride without a
/// batch, or if no kernel can compute products that lie as far apart as the strides say; `place`
/// starts the message.
void check_padding(const GemmProblem& problem, const std::string& place);

/// Writes every attribute under its name, the text key as "problem", and as "data_files" where the
/// data comes from, which no key has.
void to_json(nlohmann::json& json, const GemmProblem& problem);
/// Reads "problem", and "tag", "weight" and "data_files" if present. Throws InputError.
void from_json(const nlohmann::json& json, GemmProblem& problem);

}  // namespace hgemm
