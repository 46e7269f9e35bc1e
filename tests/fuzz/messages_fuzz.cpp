// What a worker process says: the bytes on its socket, and the values that a message is read as.
// The first byte of the input chooses: 'r' is followed by raw bytes, anything else by a message
// (CBOR), to which its length is added here.
#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/channel.h"
#include "tests/fuzz/fuzz.h"
#include "worker/messages.h"

namespace {

using namespace hgemm;

/// Reads a message as a Value. nlohmann::json's own exceptions say that a member is missing or of
/// another type: who asked the worker turns them into an Error.
template <class Value>
void read_as(const nlohmann::json& message) {
  try {
    fuzz::accepts([&] {
      const auto value = message.get<Value>();
      const nlohmann::json written = value;
      if constexpr (requires { Value(value) == value; }) {
        fuzz::require(written.get<Value>() == value, "a message is written as it was read");
      }
    });
  } catch (const nlohmann::json::exception&) {
  }
}

void read_as_any(const nlohmann::json& message) {
  read_as<Environment>(message);
  read_as<RunInfo>(message);
  read_as<Machine>(message);
  read_as<Verdict>(message);
  read_as<Timing>(message);
  read_as<Energy>(message);
  read_as<Step>(message);
  read_as<Figure>(message);
  read_as<Span>(message);
  read_as<StudyPart>(message);
  read_as<Series>(message);
  read_as<Prepared>(message);
  read_as<Sample>(message);
  read_as<StudyRequest>(message);
  read_as<Study>(message);
  read_as<GemmProblem>(message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = fuzz::text_of(data, size);
  std::string bytes;
  if (text.starts_with('r')) {
    bytes = text.substr(1);
  } else {
    if (!text.empty()) text.remove_prefix(1);
    const std::uint64_t length = text.size();
    bytes.assign(reinterpret_cast<const char*>(&length), sizeof length);
    bytes += text;
  }
  constexpr std::size_t kFitsIntoSocket = 100'000;
  if (bytes.size() > kFitsIntoSocket) return 0;
  auto [reader, writer] = Channel::make_pair();
  fuzz::require(::send(writer.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                    static_cast<ssize_t>(bytes.size()),
                "a socket takes the input");
  shutdown(writer.fd(), SHUT_WR);
  // Until it is closed, or has said that it makes no sense.
  while (fuzz::accepts([&, &reader = reader] {
    const auto message = reader.receive();
    if (message) read_as_any(*message);
  })) {
  }
  return 0;
}
