// What a wgmma keeps of a sum, on the GPU.
#include "studies/micro/accumulator.h"
#include "studies/micro/run_kernel.h"

namespace hgemm {

MicroOutcome measure(const AccumulatorPoint& point, const MicroTask& task) {
  const MicroKernel kernel(task.cubin, micro_kernel(point), 0);
  const auto add = [&](std::span<const micro::AccumulatorCase> cases) {
    const DeviceMemory given(cases.size_bytes());
    const DeviceMemory sums(cases.size() * sizeof(float));
    check(cudaMemcpy(given.data(), cases.data(), given.bytes(), cudaMemcpyHostToDevice),
          "copying operands");
    micro::AccumulatorParams params{given.as<micro::AccumulatorCase>(), sums.as<float>(),
                                    static_cast<int>(cases.size())};
    void* arguments[] = {&params};
    kernel.run({.threads = 128}, arguments, task.bench.stream);
    return read_back<float>(sums, cases.size());
  };
  AccumulatorFindings found = find_kept_bits(point.types, add);
  return {std::move(found.figures), std::move(found.wrong)};
}

}  // namespace hgemm
