// The fields of a row's problem.
#pragma once

#include <vector>

#include "output/fields.h"

namespace hgemm {

/// m n k dtype layout lda ldb ldd data tag. `problem_of` returns the problem of a row.
template <class Row, const GemmProblem& (*problem_of)(const Row&)>
std::vector<Field<Row>> problem_fields_of() {
  using F = Field<Row>;
  const std::vector<F> fields = {
      F::of("m", "integer", "rows", "rows of A and D", "",
            [](const Row& row) { return Json(problem_of(row).m); }),
      F::of("n", "integer", "columns",
            "rows of B; columns of D, which has half as many with a gate", "",
            [](const Row& row) { return Json(problem_of(row).n); }),
      F::of("k", "integer", "columns", "columns of A and B, which are summed over", "",
            [](const Row& row) { return Json(problem_of(row).k); }),
      F::of("dtype", "text", "",
            "the types in short: \"bf16\" where A, B and D have the same, \"bf16.dfp32\" where D "
            "has another; \"e4m3\" with a bf16 D, and \"e4m3.accfast\" with fast sums",
            "", [](const Row& row) { return Json(types_text(problem_of(row))); }),
      F::of("layout", "text", "",
            "of A (first letter) and B; TN: A is M x K and B is N x K, each with K contiguous", "",
            [](const Row& row) { return Json(to_string(problem_of(row).layout)); }),
      F::of("lda", "integer", "values", "from one row of A to the next", "",
            [](const Row& row) { return Json(problem_of(row).leading_a()); }),
      F::of("ldb", "integer", "values", "from one row of B to the next", "",
            [](const Row& row) { return Json(problem_of(row).leading_b()); }),
      F::of("ldd", "integer", "values", "from one row of D to the next", "",
            [](const Row& row) { return Json(problem_of(row).leading_d()); }),
      F::of("data", "text", "",
            "what A and B held while kernels were timed: normal, uniform, integers, zeros, sparse, "
            "or file- with the hash of tensors from a file",
            "", [](const Row& row) { return Json(to_string(problem_of(row).data)); }),
      F::of("tag", "text", "", "where the problem is from, as the shapes file says; may be empty",
            "", [](const Row& row) { return Json(problem_of(row).tag); })
          .at(5, 11, "tag", [](const Row& row) { return Cell(problem_of(row).tag); }),
  };
  std::vector<F> of_problem;
  for (const F& field : fields) of_problem.push_back(field.for_problem());
  return of_problem;
}

/// The key of the problem, the first column of tables.
template <class Row, const GemmProblem& (*problem_of)(const Row&)>
Field<Row> problem_key_of() {
  return Field<Row>::of("problem", "text", "",
                        "the problem's key, as --shapes reads it: \"64x64x60.fp16.lda64\"", "",
                        [](const Row& row) { return Json(to_string(problem_of(row))); })
      .at(0, 0, "shape")
      .giving_way(Table::Fit::kWrapped)
      .for_problem();
}

}  // namespace hgemm
