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

/// The bytes from the other end are not a message. The start of the next message is unknown, so the
/// channel cannot be used any more.
class NotAMessage : public Error {
 public:
  using Error::Error;
};

/// Decodes a message from the bytes behind its length. Throws NotAMessage if they are not valid
/// CBOR, or if values are nested deeper than 64 levels (the decoder recurses).
nlohmann::json parse_message(std::string_view bytes);

class Channel {
 public:
  explicit Channel(int socket_fd) : fd_(socket_fd) {}  ///< owns the descriptor
  Channel(Channel&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), received_(std::move(other.received_)) {}
  Channel& operator=(Channel&&) = delete;
  ~Channel();

  /// Two connected ends. Both descriptors are closed on exec. Throws Error if the system refuses.
  static std::pair<Channel, Channel> make_pair();

  /// Sends one message. Returns false if the deadline passed before the other end took all of it;
  /// the channel cannot be used any more then. Throws ChannelClosed.
  [[nodiscard]] bool send(const nlohmann::json& message, Deadline deadline = kNever);

  /// The next message, or none if it is not complete by the deadline (the call may be repeated).
  /// The deadline holds even if bytes keep coming. Throws ChannelClosed and NotAMessage.
  std::optional<nlohmann::json> receive(Deadline deadline = kNever);

  int fd() const { return fd_; }  ///< readable when receive() would make progress

 private:
  int fd_;
  std::string received_;  // bytes of a message that is not complete yet
};

}  // namespace hgemm
