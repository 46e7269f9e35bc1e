#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.h"
#include "cli/commands.h"
#include "compile/compiler.h"
#include "device/device.h"
#include "program/shapes.h"
#include "studies/counters/request.h"
#include "studies/counters/run.h"
#include "studies/registry.h"
#include "worker/remote.h"

namespace hgemm::cli {
namespace {

/// One launch for another profiler: scripts/check_counters.sh runs it under ncu.
int run_launch(const std::string& problem_text, const std::string& label) {
  const std::vector<GemmProblem> problems = chosen_problems(problem_text);
  if (problems.size() != 1) throw InputError("launch takes one shape");
  check_counted(label);
  const StudyRequest request = counters_request(label, problems.front());
  CompileOptions options;
  Cubin cubin;
  if (!request.sources.empty()) {
    options.cache_dir = default_cache_dir();
    compile_sources(request.sources, options, [&cubin](std::size_t, const Build& build) {
      if (build.status != Status::kOk) throw Error(build.message);
      cubin = build.cubin;
    });
  }
  const Gpu device = open_device();
  launch_for_profiler(request, cubin, {device, nullptr, nullptr, Stream()});
  return 0;
}

}  // namespace

void add_workers(CLI::App& program, Command& chosen) {
  const auto add = [&](const char* name, const std::function<int(int)>& entry) {
    CLI::App* command = program.add_subcommand(name)->group("");
    const auto socket_fd = std::make_shared<int>(-1);
    command->add_option("fd", *socket_fd)->required();
    command->callback(
        [&chosen, socket_fd, entry] { chosen = [socket_fd, entry] { return entry(*socket_fd); }; });
  };
  add("worker", [](int socket_fd) { return worker_main(socket_fd, run_any_study); });
  add("compile-worker", compile_worker_main);

  CLI::App* launch = program.add_subcommand("launch")->group("");
  const auto problem = std::make_shared<std::string>();
  const auto label = std::make_shared<std::string>(kCublasLabel);
  launch->add_option("--shapes", *problem)->required();
  launch->add_option("--config", *label);
  launch->callback([&chosen, problem, label] {
    chosen = [problem, label] { return run_launch(*problem, *label); };
  });
}

}  // namespace hgemm::cli
