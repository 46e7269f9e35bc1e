#include "studies/micro/run.h"

#include <variant>

#include "studies/micro/run_kernel.h"

namespace hgemm {

Study run_micro(const StudyRequest& request, const Cubin& cubin, const Bench& bench) {
  const MicroPoint point = parse_micro(request.label);
  // A source of 1 GiB to fill, and ten launches of at most some milliseconds.
  constexpr double kExpectedMs = 300;
  if (bench.on_step) bench.on_step({"a microbenchmark", request.label, true, kExpectedMs});

  const MicroTask task{request, cubin, bench};
  MicroOutcome outcome = std::visit([&task](const auto& p) { return measure(p, task); }, point);
  Study study;
  study.kind = request.kind;
  study.label = request.label;
  study.figures = std::move(outcome.figures);
  if (!outcome.wrong.empty()) {
    study.status = Status::kWrongResult;
    study.message = outcome.wrong;
  }
  return study;
}

}  // namespace hgemm
