#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "compile/compiler.h"
#include "worker/remote.h"

namespace hgemm::cli {

void add_workers(CLI::App& program, Command& chosen) {
  const auto add = [&](const char* name, int (*entry)(int)) {
    CLI::App* command = program.add_subcommand(name)->group("");
    const auto socket_fd = std::make_shared<int>(-1);
    command->add_option("fd", *socket_fd)->required();
    command->callback(
        [&chosen, socket_fd, entry] { chosen = [socket_fd, entry] { return entry(*socket_fd); }; });
  };
  add("worker", worker_main);
  add("compile-worker", compile_worker_main);
}

}  // namespace hgemm::cli
