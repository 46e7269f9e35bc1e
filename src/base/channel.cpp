#include "base/channel.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <system_error>

namespace hgemm {
namespace {

constexpr std::size_t kHeaderBytes = sizeof(std::uint64_t);
/// The largest message seen so far, a study with its timeline, has about 10 MB.
constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 28;
constexpr int kMaxDepth = 64;

/// Walks through a message without storing it, and stops where it is nested too deeply.
class DepthCheck : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ <= kMaxDepth; }
  bool start_array(std::size_t) override { return ++depth_ <= kMaxDepth; }
  bool end_object() override { return --depth_ >= 0; }
  bool end_array() override { return --depth_ >= 0; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  int depth_ = 0;
};

/// Waits until `fd` is ready for `events`; false if the deadline passes first.
bool wait_ready(int fd, short events, Deadline deadline) {
  for (;;) {
    int timeout_ms = -1;
    if (deadline != kNever) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX));
    }
    pollfd entry{fd, events, 0};
    const int ready = poll(&entry, 1, timeout_ms);
    if (ready > 0) return true;  // POLLHUP and POLLERR too: the next call says what it is
    if (ready == 0) return false;
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
  }
}

bool must_wait(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

[[noreturn]] void throw_closed(const char* action) {
  throw ChannelClosed(fmt::format("{}: the other process has ended", action));
}

[[noreturn]] void throw_not_a_message() {
  throw NotAMessage("receive: the bytes are not a message");
}

}  // namespace

nlohmann::json parse_message(std::string_view bytes) {
  using nlohmann::json;
  DepthCheck depth_check;
  if (!json::sax_parse(bytes, &depth_check, json::input_format_t::cbor)) throw_not_a_message();
  json message = json::from_cbor(bytes, /*strict=*/true, /*allow_exceptions=*/false);
  if (message.is_discarded()) throw_not_a_message();
  return message;
}

Channel::~Channel() {
  if (fd_ >= 0) close(fd_);
}

std::pair<Channel, Channel> Channel::make_pair() {
  std::array<int, 2> fds;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  return {Channel(fds[0]), Channel(fds[1])};
}

bool Channel::send(const nlohmann::json& message, Deadline deadline) {
  std::string bytes(kHeaderBytes, '\0');
  nlohmann::json::to_cbor(message, bytes);
  const std::uint64_t size = bytes.size() - kHeaderBytes;
  std::memcpy(bytes.data(), &size, kHeaderBytes);

  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count =
        ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
    } else if (!must_wait(errno)) {
      throw_closed("send");
    } else if (!wait_ready(fd_, POLLOUT, deadline)) {
      return false;
    }
  }
  return true;
}

std::optional<nlohmann::json> Channel::receive(Deadline deadline) {
  for (bool came = false;;) {
    if (received_.size() >= kHeaderBytes) {
      std::uint64_t size;
      std::memcpy(&size, received_.data(), kHeaderBytes);
      if (size > kMaxMessageBytes) throw_not_a_message();
      if (received_.size() - kHeaderBytes >= size) {
        const auto length = static_cast<std::size_t>(size);
        nlohmann::json message =
            parse_message(std::string_view(received_).substr(kHeaderBytes, length));
        received_.erase(0, kHeaderBytes + length);
        return message;
      }
    }
    // A peer that sends bytes without end must not block this call past its deadline.
    if (came && deadline != kNever && std::chrono::steady_clock::now() >= deadline) {
      return std::nullopt;
    }
    std::array<char, 1 << 16> chunk;
    const ssize_t count = recv(fd_, chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (count > 0) {
      received_.append(chunk.data(), static_cast<std::size_t>(count));
      came = true;
    } else if (count == 0 || !must_wait(errno)) {
      throw_closed("receive");
    } else if (!wait_ready(fd_, POLLIN, deadline)) {
      return std::nullopt;
    }
  }
}

}  // namespace hgemm
