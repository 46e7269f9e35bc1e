#include "base/command.h"

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
#include <cstring>
#include <system_error>
#include <thread>

#include "base/error.h"

namespace hgemm {
namespace {

constexpr std::size_t kMostOutput = std::size_t{16} << 20;
constexpr int kMomentMs = 50;

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
    close_reader();
    close_writer();
  }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_reader() { close_end(ends_[0]); }
  void close_writer() { close_end(ends_[1]); }

  /// Reads what is there. Returns false at the end of the output.
  bool read_some(std::string& text) const {
    std::array<char, 4096> bytes;
    const ssize_t count = read(reader(), bytes.data(), bytes.size());
    if (count <= 0) return count < 0 && errno == EINTR;
    if (text.size() < kMostOutput) text.append(bytes.data(), static_cast<std::size_t>(count));
    return true;
  }

 private:
  static void close_end(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }

  std::array<int, 2> ends_{-1, -1};
};

class Process {
 public:
  Process(std::vector<std::string> command, ErrorStream errors);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (pid_ <= 0) return;
    kill(-pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  CommandResult wait(const std::function<bool()>& give_up);

 private:
  bool read_moment(CommandResult& result);

  Pipe out_, err_;
  pid_t pid_ = -1;
};

/// Makes only async-signal-safe calls: another thread may have held any lock at the fork.
[[noreturn]] void become(char** argv, pid_t parent, int out, int err, int report,
                         ErrorStream errors) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);  // the caller may block some signals
  signal(SIGPIPE, SIG_DFL);
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent died before prctl
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  if (errors == ErrorStream::kDropped) dup2(null, STDERR_FILENO);
  if (errors == ErrorStream::kCaptured) dup2(err, STDERR_FILENO);
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  execvp(argv[0], argv);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(report, &error, sizeof error);
  _exit(127);
}

Process::Process(std::vector<std::string> command, ErrorStream errors) {
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  Pipe report;  // closed by a successful exec; a failed one writes its errno first
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    become(argv.data(), parent, out_.writer(), err_.writer(), report.writer(), errors);
  }
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  out_.close_writer();
  err_.close_writer();
  report.close_writer();
  int error = 0;
  ssize_t count = 0;
  do count = read(report.reader(), &error, sizeof error);
  while (count < 0 && errno == EINTR);
  if (count <= 0) return;
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
  const std::string text =
      fmt::format("{} could not be started: {}", command[0], std::strerror(error));
  if (error == ENOENT) throw ProgramMissing(text);
  throw Error(text);
}

/// Waits a moment for output. Returns false at the end of all output.
bool Process::read_moment(CommandResult& result) {
  std::array<pollfd, 2> readable{pollfd{.fd = out_.reader(), .events = POLLIN, .revents = 0},
                                 pollfd{.fd = err_.reader(), .events = POLLIN, .revents = 0}};
  const int ready = poll(readable.data(), readable.size(), kMomentMs);
  if (ready <= 0) return ready == 0 || errno == EINTR;
  if (readable[0].revents != 0 && !out_.read_some(result.out)) out_.close_reader();
  if (readable[1].revents != 0 && !err_.read_some(result.err)) err_.close_reader();
  return out_.reader() >= 0 || err_.reader() >= 0;
}

CommandResult Process::wait(const std::function<bool()>& give_up) {
  CommandResult result;
  while (read_moment(result)) {
    if (give_up()) return result;
  }
  int status = 0;
  pid_t ended = 0;
  while (true) {
    ended = waitpid(pid_, &status, WNOHANG);
    if (ended > 0 || (ended < 0 && errno != EINTR)) break;
    if (give_up()) return result;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  pid_ = -1;
  if (ended > 0) {
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return result;
}

}  // namespace

CommandResult run_command(std::vector<std::string> command, ErrorStream errors,
                          const std::function<bool()>& give_up) {
  return Process(std::move(command), errors).wait(give_up);
}

CommandResult run_command(std::vector<std::string> command, ErrorStream errors,
                          std::chrono::seconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  return run_command(std::move(command), errors,
                     [until] { return std::chrono::steady_clock::now() >= until; });
}

}  // namespace hgemm
