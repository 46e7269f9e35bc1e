// The option --peer.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "record/peer.h"

namespace hgemm::cli {

/// Reads "[NAME=]FILE.so[:OPTIONS]" for each peer. Without a name, the peer is called as its file:
/// "cutlass" for "libcutlass.so". Hashes the files, and loads none of them. Throws InputError for a
/// missing file, an impossible name, and a name that two peers have.
std::vector<Peer> parse_peers(std::span<const std::string> arguments);

}  // namespace hgemm::cli
