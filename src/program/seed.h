#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace hgemm::cli {

/// Adds `--seed N`, a whole number that fits into 64 bits.
void add_seed(CLI::App& command, std::optional<std::uint64_t>& seed, const std::string& help);

}  // namespace hgemm::cli
