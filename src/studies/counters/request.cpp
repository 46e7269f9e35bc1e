#include "studies/counters/request.h"

#include <fmt/format.h>

#include "base/error.h"
#include "compile/source.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "program/configs.h"
#include "studies/counters/counter_set.h"
#include "studies/ladder/ladder.h"

namespace hgemm {

void check_counted(const std::string& label) {
  if (!is_baseline(label) && !parse_ladder_label(label)) cli::chosen_config(label);
}

bool is_of_type(const std::string& label, const GemmProblem& problem) {
  const auto step = parse_ladder_label(label);
  return !step || (step->dtype == problem.a_type && step->dtype == problem.d_type);
}

StudyRequest counters_request(const std::string& label, const GemmProblem& problem) {
  StudyRequest request{.kind = std::string(kCountersStudy), .label = label, .problem = problem};
  if (const auto step = parse_ladder_label(label)) {
    request.sources = {{label, ladder_source(*step)}};
  } else if (!is_baseline(label)) {
    const KernelConfig config = parse_label(label);
    if (const char* why = why_not(config, problem)) {
      throw InputError(fmt::format("{} cannot compute {}: {}", label, to_string(problem), why));
    }
    request.sources = {{label, kernel_source(kernel_for(config, problem))}};
  }
  return request;
}

}  // namespace hgemm
