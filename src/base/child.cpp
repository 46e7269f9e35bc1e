#include "base/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>

namespace hgemm {

Child::Child(std::vector<std::string> command) : Child(std::move(command), Channel::make_pair()) {}

Child::Child(std::vector<std::string> command, std::pair<Channel, Channel> ends)
    : channel_(std::move(ends.first)) {
  const int socket_fd = ends.second.fd();
  command.push_back(std::to_string(socket_fd));
  std::vector<char*> argv;
  for (std::string& argument : command) argv.push_back(argument.data());
  argv.push_back(nullptr);

  // A successful exec closes the pipe; a failed one writes its errno first.
  std::array<int, 2> report;
  if (pipe2(report.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe2");
  }
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    // Only async-signal-safe calls: another thread may have held any lock at the fork.
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);  // it died before prctl
    close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    fcntl(socket_fd, F_SETFD, 0);
    execv(argv[0], argv.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(report[1], &error, sizeof error);
    _exit(127);
  }
  const int fork_error = errno;
  close(report[1]);
  int exec_error = 0;
  ssize_t count = 0;
  if (pid_ > 0) {
    do count = read(report[0], &exec_error, sizeof exec_error);
    while (count < 0 && errno == EINTR);
  }
  close(report[0]);
  if (pid_ < 0) throw std::system_error(fork_error, std::generic_category(), "fork");
  if (count > 0) {
    wait();
    throw Error(fmt::format("Cannot run {}: {}", command[0], std::strerror(exec_error)));
  }
}

Child::~Child() {
  kill();
  wait();
}

void Child::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  killed_ = true;
}

std::string Child::wait() {
  if (pid_ <= 0) return end_;
  const auto give_up = std::chrono::steady_clock::now() + kReapLimit;
  int status = 0;
  pid_t ended = 0;
  do {
    ended = waitpid(pid_, &status, killed_ ? WNOHANG : 0);
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while ((ended < 0 && errno == EINTR) ||
           (ended == 0 && std::chrono::steady_clock::now() < give_up));
  pid_ = -1;
  if (ended <= 0) {
    end_ = "still not gone long after it was killed: a driver holds it";
  } else if (WIFSIGNALED(status)) {
    end_ = fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  } else {
    end_ = fmt::format("exit code {}", WEXITSTATUS(status));
  }
  return end_;
}

}  // namespace hgemm
