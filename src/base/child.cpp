#include "base/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>

namespace hgemm {
namespace {

/// How the process ended; none if it has not ended within the limit.
std::optional<int> reap(pid_t pid, std::chrono::milliseconds limit) {
  const auto give_up = std::chrono::steady_clock::now() + limit;
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended > 0) return status;
    if (ended < 0 && errno != EINTR) return std::nullopt;  // not ours to wait for
    if (std::chrono::steady_clock::now() >= give_up) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// The errno that a child wrote to the pipe because its program could not be run; 0 once the
/// program runs; none if neither happens within the limit.
std::optional<int> exec_error(int pipe, std::chrono::milliseconds limit) {
  pollfd entry{pipe, POLLIN, 0};
  int ready = 0;
  do ready = poll(&entry, 1, static_cast<int>(limit.count()));
  while (ready < 0 && errno == EINTR);
  if (ready <= 0) return std::nullopt;
  int error = 0;
  ssize_t count = 0;
  do count = read(pipe, &error, sizeof error);
  while (count < 0 && errno == EINTR);
  return count > 0 ? error : 0;
}

/// The variables of this process, replaced by those of `own` with the same name; ends with nullptr.
/// The pointers are into `own` and the environment.
std::vector<char*> variables_with(std::vector<std::string>& own) {
  const auto name_of = [](std::string_view variable) {
    return variable.substr(0, variable.find('='));
  };
  std::vector<char*> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const auto is_replaced = [&](const std::string& other) {
      return name_of(other) == name_of(*variable);
    };
    if (std::ranges::none_of(own, is_replaced)) all.push_back(*variable);
  }
  for (std::string& variable : own) all.push_back(variable.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

Child::Child(std::vector<std::string> command, std::vector<std::string> environment)
    : Child(std::move(command), std::move(environment), Channel::make_pair()) {}

Child::Child(std::vector<std::string> command, std::vector<std::string> environment,
             std::pair<Channel, Channel> ends)
    : channel_(std::move(ends.first)) {
  const int socket_fd = ends.second.fd();
  command.push_back(std::to_string(socket_fd));
  std::vector<char*> argv;
  for (std::string& argument : command) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::vector<char*> envp = variables_with(environment);

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
    if (getppid() != parent) _exit(127);  // the parent died before prctl
    close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    fcntl(socket_fd, F_SETFD, 0);
    execve(argv[0], argv.data(), envp.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(report[1], &error, sizeof error);
    _exit(127);
  }
  const int fork_error = errno;
  close(report[1]);
  const std::optional<int> error = pid_ > 0 ? exec_error(report[0], kStartLimit) : 0;
  close(report[0]);
  if (pid_ < 0) throw std::system_error(fork_error, std::generic_category(), "fork");
  if (error != 0) {
    wait(std::chrono::milliseconds(0));
    throw Error(fmt::format("Cannot run {}: {}", command[0],
                            error ? std::strerror(*error) : "its program does not start"));
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

std::string Child::wait(std::chrono::milliseconds grace) {
  if (pid_ <= 0) return end_;
  std::optional<int> status = killed_ ? std::nullopt : reap(pid_, grace);
  const bool hung = !status && !killed_;
  if (!status) {
    ::kill(pid_, SIGKILL);
    status = reap(pid_, kReapLimit);
  }
  pid_ = -1;
  if (!status) {
    end_ = "still not gone long after it was killed: a driver holds it";
  } else if (hung && WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL) {
    end_ = fmt::format("it did not end by itself within {} ms and was killed", grace.count());
  } else if (WIFSIGNALED(*status)) {
    end_ = fmt::format("killed by signal {} ({})", WTERMSIG(*status), strsignal(WTERMSIG(*status)));
  } else {
    end_ = fmt::format("exit code {}", WEXITSTATUS(*status));
  }
  return end_;
}

}  // namespace hgemm
