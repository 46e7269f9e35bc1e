#include "program/python.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/error.h"

extern char** environ;

namespace hgemm::cli {
namespace {
namespace fs = std::filesystem;

/// Owns what posix_spawn is told of the streams.
class Streams {
 public:
  Streams() { posix_spawn_file_actions_init(&actions_); }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  ~Streams() { posix_spawn_file_actions_destroy(&actions_); }
  void silence() {
    for (const int stream : {1, 2}) {
      posix_spawn_file_actions_addopen(&actions_, stream, "/dev/null", O_WRONLY, 0);
    }
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// Exit code, 128 + signal, or none if it could not be started (errno says why).
std::optional<int> run(std::vector<std::string> command, const Streams& streams) {
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  if (const int error =
          posix_spawnp(&pid, argv.front(), streams.get(), nullptr, argv.data(), environ);
      error != 0) {
    errno = error;
    return std::nullopt;
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return std::nullopt;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Looks without importing: matplotlib takes a second to load.
bool can_draw(const std::string& python) {
  Streams streams;
  streams.silence();
  return run({python, "-c",
              "import sys, importlib.util as u\n"
              "sys.exit(not all(map(u.find_spec, ('matplotlib', 'numpy'))))"},
             streams) == 0;
}

}  // namespace

std::string find_python() {
  if (const char* named = std::getenv("HGEMM_TUNE_PYTHON"); named != nullptr && *named != '\0') {
    if (can_draw(named)) return named;
    throw InputError(fmt::format(
        "$HGEMM_TUNE_PYTHON is {}, which is no Python 3 with matplotlib; name one that has it, "
        "or unset the variable",
        named));
  }
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& venv : {program / ".venv", program.parent_path() / ".venv"}) {
    const fs::path python = venv / "bin" / "python3";
    if (fs::exists(python) && can_draw(python.string())) return python.string();
  }
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    if (can_draw(python)) return python;
  }
  throw Error(
      "no Python 3 with matplotlib to draw with; install it (Debian: apt-get install "
      "python3-matplotlib; else python3 -m venv .venv && .venv/bin/pip install matplotlib, and "
      "HGEMM_TUNE_PYTHON=.venv/bin/python3)");
}

int run_python(const std::string& python, const fs::path& script,
               const std::vector<std::string>& arguments) {
  std::vector<std::string> command{python, script.string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const auto exit_code = run(command, Streams());
  if (!exit_code) {
    throw Error(fmt::format("{} could not be started: {}", python, std::strerror(errno)));
  }
  return *exit_code;
}

}  // namespace hgemm::cli
