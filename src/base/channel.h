// Messages between this program and its worker processes: JSON values over a stream socket, each
// encoded as CBOR behind its length. CBOR rather than text, because it carries NaN and raw bytes.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace hgemm {

using Deadline = std::chrono::steady_clock::time_point;
inline constexpr Deadline kNever = Deadline::max();

/// The process at the other end closed its socket, or died.
class ChannelClosed : public Error {
 public:
  using Error::Error;
};

/// What the other end sent is not a message: there is no telling where the next one would begin, so
/// the channel is of no more use.
class NotAMessage : public Error {
 public:
  using Error::Error;
};

/// What a message holds, from its bytes behind the length. Throws NotAMessage for any others;
/// values nested deeper than 64 are none (reading them recurses).
nlohmann::json parse_message(std::string_view bytes);

class Channel {
 public:
  explicit Channel(int socket_fd) : fd_(socket_fd) {}  ///< owns the descriptor
  Channel(Channel&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), received_(std::move(other.received_)) {}
  Channel& operator=(Channel&&) = delete;
  ~Channel();

  /// Two connected ends, closed on exec.
  static std::pair<Channel, Channel> make_pair();

  /// False if the deadline passed before the other end took all of it: the channel is of no more
  /// use. Throws ChannelClosed.
  [[nodiscard]] bool send(const nlohmann::json& message, Deadline deadline = kNever);

  /// The next message, or none by the deadline (it may be asked for again), however many bytes keep
  /// coming. Throws ChannelClosed, and NotAMessage.
  std::optional<nlohmann::json> receive(Deadline deadline = kNever);

  int fd() const { return fd_; }  ///< readable when receive() would make progress

 private:
  int fd_;
  std::string received_;  // bytes of a message that is not complete yet
};

}  // namespace hgemm
