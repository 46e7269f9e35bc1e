// The config.json of a model, run on one rank and on eight.
#include <cmath>

#include "gemm/hugging_face.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hgemm;
  fuzz::accepts([&] {
    const ModelConfig config = parse_model_config(fuzz::text_of(data, size), "config.json");
    for (const std::int64_t ranks : {1, 8})
      fuzz::accepts([&] {
        const ModelRun run{.tokens = {1, 100, 1 << 30}, .tensor_parallel = ranks};
        const ModelProblems model = model_problems(config, run, "config.json");
        fuzz::require(!model.problems.empty(), "a model has GEMMs");
        for (const GemmProblem& problem : model.problems) {
          fuzz::require(problem.m > 0 && problem.n > 0 && problem.k > 0, "extents are above 0");
          fuzz::require(std::isfinite(problem.weight) && problem.weight > 0, "weights are above 0");
        }
      });
  });
  return 0;
}
