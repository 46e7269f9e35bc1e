// hgemm-tune with GPUs that invent their times and a compiler that compiles nothing. The times
// depend on the shape and the config alone, so that every run of a sweep finds the same.
//   HGEMM_FAKE_STEP_MS   how long each step takes (0)
//   HGEMM_FAKE_POISON    a shape at which the process aborts
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "base/hash.h"
#include "base/text.h"
#include "gemm/codec.h"
#include "main/run_program.h"
#include "tests/tune/support.h"

namespace hgemm {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class InventingGpu : public FakeMeasurer {
 public:
  explicit InventingGpu(int index) {
    noise = 0;
    where.run.gpu_uuid = fmt::format("GPU-{}-{}", variable("SLURMD_NODENAME"), index);
    const auto step_ms = find_number(variable("HGEMM_FAKE_STEP_MS")).value_or(0);
    before_step = [step_ms] { std::this_thread::sleep_for(std::chrono::milliseconds(step_ms)); };
  }

  Opened open(const GemmProblem& problem, const Opening& opening) override {
    if (to_string(problem) == variable("HGEMM_FAKE_POISON")) std::abort();
    return FakeMeasurer::open(problem, opening);
  }

 protected:
  double time_us(const GemmProblem& problem, const std::string& label, Pace) const override {
    const std::string digits = content_hash(label + " " + to_string(problem)).substr(0, 4);
    return 50 + static_cast<double>(std::stoi(digits, nullptr, 16)) / 655.36;
  }
};

std::vector<std::unique_ptr<Measurer>> open_gpus(const cli::GpuRequest&) {
  const auto count = find_number(variable("SLURM_GPUS_ON_NODE")).value_or(1);
  std::vector<std::unique_ptr<Measurer>> gpus;
  for (int i = 0; i < static_cast<int>(count); ++i)
    gpus.push_back(std::make_unique<InventingGpu>(i));
  return gpus;
}

}  // namespace
}  // namespace hgemm

int main(int argc, char** argv) {
  const hgemm::FakeCompiler compiler;
  return hgemm::cli::run_program(argc, argv,
                                 {.open_gpus = hgemm::open_gpus, .compiler = compiler.compiler()});
}
