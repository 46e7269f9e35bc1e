// Peers: kernels of others that race as baselines (include/hgemm_peer.h).
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace hgemm {

/// Labels of a peer's trials: "peer.<name>.<variant>". A peer that failed before it had variants
/// has one trial, "peer.<name>".
inline constexpr std::string_view kPeerPrefix = "peer.";

/// Libraries of more bytes are no peers.
inline constexpr std::size_t kLongestPeerBytes = std::size_t{2} << 30;

/// A shared library that takes part in all races of a tune.
struct Peer {
  std::string name;            ///< of a-z, 0-9, _ and -; unique in a tune
  std::filesystem::path file;  ///< absolute
  std::string hash;            ///< content_hash() of the file
  std::string options;         ///< handed to the peer as they are

  /// The start of the labels of its variants.
  std::string label() const { return std::string(kPeerPrefix) + name; }
  std::string label(int variant) const;
  /// What stands in place of a kernel's identity in its trials. Other options may choose other
  /// kernels, so they are a part of it.
  std::string identity() const;

  bool operator==(const Peer&) const = default;
};

bool is_peer(std::string_view label);
/// "cutlass" of "peer.cutlass.3"; `label` is that of a peer.
std::string_view peer_name(std::string_view label);

bool is_peer_name(std::string_view text);  ///< whether a peer may be called so

}  // namespace hgemm
