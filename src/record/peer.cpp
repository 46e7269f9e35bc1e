#include "record/peer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "include/hgemm_peer.h"

namespace hgemm {

std::string Peer::label(int variant) const { return fmt::format("{}.{}", label(), variant); }

std::string Peer::identity() const {
  if (options.empty()) return "peer:" + hash;
  return "peer:" + content_hash(std::array<std::string_view, 2>{hash, options});
}

bool is_peer(std::string_view label) { return label.starts_with(kPeerPrefix); }

std::string_view peer_name(std::string_view label) {
  label.remove_prefix(kPeerPrefix.size());
  return label.substr(0, label.find('.'));
}

bool is_peer_name(std::string_view text) {
  return !text.empty() && text.size() <= HGEMM_PEER_LONGEST_NAME &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
         });
}

}  // namespace hgemm
