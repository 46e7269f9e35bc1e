#include "program/peers.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "include/hgemm_peer.h"

namespace hgemm::cli {
namespace {
namespace fs = std::filesystem;

/// The length of the file's path at the start of `text`: up to the first colon after which no
/// longer path is a file, because a path may contain colons too. Without any file, up to the first
/// colon.
std::size_t path_length(const std::string& text) {
  std::size_t length = std::min(text.find(':'), text.size());
  for (std::size_t end = length;; end = std::min(text.find(':', end + 1), text.size())) {
    if (fs::is_regular_file(text.substr(0, end))) length = end;
    if (end == text.size()) return length;
  }
}

/// "cutlass" for "/somewhere/libcutlass.so.3"
std::string name_of(const fs::path& file) {
  std::string name = file.filename().string();
  name.resize(std::min(name.find('.'), name.size()));
  if (name.starts_with("lib") && name.size() > 3) name.erase(0, 3);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (!is_peer_name(std::string_view(&c, 1))) c = '_';
  }
  return name.substr(0, HGEMM_PEER_LONGEST_NAME);
}

Peer parse_peer(const std::string& argument) {
  Peer peer;
  std::string text = argument;
  const std::size_t equals = argument.find('=');
  const bool is_named = equals != argument.npos && argument.find_first_of("/.:") > equals;
  if (is_named) {
    peer.name = argument.substr(0, equals);
    text = argument.substr(equals + 1);
  }
  const std::size_t length = path_length(text);
  peer.file = fs::absolute(text.substr(0, length));
  if (length < text.size()) peer.options = text.substr(length + 1);
  if (!is_named) peer.name = name_of(peer.file);
  if (!is_peer_name(peer.name)) {
    throw InputError(fmt::format(
        "--peer {}: {} cannot be the name of a peer; use 1 to {} characters of a-z, 0-9, _ and -",
        argument, in_quotes(peer.name), HGEMM_PEER_LONGEST_NAME));
  }
  try {
    peer.hash = content_hash(read_file(peer.file, kLongestPeerBytes));
  } catch (const InputError& error) {
    throw InputError(fmt::format("--peer {}: {}", argument, error.what()));
  }
  return peer;
}

}  // namespace

std::vector<Peer> parse_peers(std::span<const std::string> arguments) {
  std::vector<Peer> peers;
  for (const std::string& argument : arguments) {
    Peer peer = parse_peer(argument);
    if (std::ranges::find(peers, peer.name, &Peer::name) != peers.end()) {
      throw InputError(fmt::format(
          "--peer {0}: two peers are called {1}; give this one another name: --peer NAME={0}",
          argument, peer.name));
    }
    peers.push_back(std::move(peer));
  }
  return peers;
}

}  // namespace hgemm::cli
