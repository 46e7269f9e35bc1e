#include "program/python.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>

#include "base/error.h"

namespace hgemm::cli {
namespace {
namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

/// A hung interpreter, e.g. on a network file system that is gone, must not hang the program.
constexpr seconds kProbeLimit{60};
/// Drawing the recorded results takes half a minute on two cores.
constexpr seconds kDrawLimit{1200};

class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) {
      throw std::system_error(errno, std::generic_category(), "pipe2");
    }
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close(ends_[0]);
    close_writer();
  }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_writer() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{};
};

/// A Python process that ends with this program. If this program is killed, the kernel's signal
/// ends it. If this program gives it up, its children end, too (it has its own process group).
class Process {
 public:
  /// Throws Error if it cannot be run.
  Process(std::vector<std::string> command, bool silent);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (pid_ <= 0) return;
    kill(-pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  /// Waits for the end. Returns its stdout and exit code (128 + signal if a signal ended it). There
  /// is no exit code if `give_up` returned true first.
  PythonRun wait(const std::function<bool()>& give_up);

 private:
  bool read_some(std::string& out) const;

  Pipe out_;
  pid_t pid_ = -1;
};

/// Makes only async-signal-safe calls: another thread may have held any lock at the fork.
[[noreturn]] void become(char** argv, pid_t parent, int out, int report, bool silent) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);  // StopSignals blocks some signals
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent died before prctl
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  if (silent) dup2(null, STDERR_FILENO);
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  execvp(argv[0], argv);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(report, &error, sizeof error);
  _exit(127);
}

Process::Process(std::vector<std::string> command, bool silent) {
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  Pipe report;  // closed by a successful exec; a failed one writes its errno first
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) become(argv.data(), parent, out_.writer(), report.writer(), silent);
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  out_.close_writer();
  report.close_writer();
  int error = 0;
  ssize_t count = 0;
  do count = read(report.reader(), &error, sizeof error);
  while (count < 0 && errno == EINTR);
  if (count <= 0) return;
  waitpid(pid_, nullptr, 0);
  throw Error(fmt::format("{} could not be started: {}", command[0], std::strerror(error)));
}

/// Waits a moment for output. Returns false at the end of the output.
bool Process::read_some(std::string& out) const {
  constexpr std::size_t kMost = 1 << 20;
  constexpr int kMomentMs = 50;
  pollfd readable{.fd = out_.reader(), .events = POLLIN, .revents = 0};
  const int ready = poll(&readable, 1, kMomentMs);
  if (ready <= 0) return ready == 0 || errno == EINTR;
  std::array<char, 4096> bytes;
  const ssize_t count = read(out_.reader(), bytes.data(), bytes.size());
  if (count <= 0) return count < 0 && errno == EINTR;
  if (out.size() < kMost) out.append(bytes.data(), static_cast<std::size_t>(count));
  return true;
}

PythonRun Process::wait(const std::function<bool()>& give_up) {
  PythonRun result;
  while (read_some(result.out)) {
    if (give_up()) return result;
  }
  int status = 0;
  pid_t ended = 0;
  while (true) {
    ended = waitpid(pid_, &status, WNOHANG);
    if (ended > 0 || (ended < 0 && errno != EINTR)) break;
    if (give_up()) return result;
    std::this_thread::sleep_for(milliseconds(1));
  }
  pid_ = -1;
  if (ended > 0)
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

/// -I: neither the working folder nor PYTHON* variables decide which modules are loaded.
/// -B: nothing is written beside the scripts.
std::vector<std::string> isolated(const std::string& python) { return {python, "-I", "-B"}; }

/// Whether this Python has the modules. Does not import them: matplotlib takes a second to load.
bool can_draw(const std::string& python) {
  std::vector<std::string> command = isolated(python);
  command.insert(command.end(), {"-c",
                                 "import sys, importlib.util as u\n"
                                 "sys.exit(not all(map(u.find_spec, ('matplotlib', 'numpy'))))"});
  try {
    const auto until = steady_clock::now() + kProbeLimit;
    const auto late = [until] { return steady_clock::now() >= until; };
    return Process(std::move(command), true).wait(late).exit_code == 0;
  } catch (const Error&) {
    return false;
  }
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

PythonRun run_python(const std::string& python, const fs::path& script,
                     const std::vector<std::string>& arguments,
                     const std::function<bool()>& should_stop) {
  std::vector<std::string> command = isolated(python);
  command.push_back(script.string());
  command.insert(command.end(), arguments.begin(), arguments.end());
  const auto until = steady_clock::now() + kDrawLimit;
  bool stopped = false;
  PythonRun result = Process(std::move(command), false).wait([&] {
    stopped = stopped || should_stop();
    return stopped || steady_clock::now() >= until;
  });
  if (!result.exit_code && !stopped) {
    throw Error(
        fmt::format("{} was not done with {} after {} minutes and was ended; try once "
                    "more when the machine is less busy",
                    python, script.string(), kDrawLimit / std::chrono::minutes(1)));
  }
  return result;
}

}  // namespace hgemm::cli
