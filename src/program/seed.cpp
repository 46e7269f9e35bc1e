#include "program/seed.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>
#include <string>

namespace hgemm::cli {
namespace {

/// The reason why `text` is not a seed; empty if it is one. Without this check, a number out of
/// range would be taken modulo 2^64.
std::string why_no_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, seed);
  if (parsed.ec == std::errc() && parsed.ptr == end) return "";
  return fmt::format("found {}; expected a whole number from 0 to {}", text,
                     std::numeric_limits<std::uint64_t>::max());
}

}  // namespace

void add_seed(CLI::App& command, std::optional<std::uint64_t>& seed, const std::string& help) {
  command.add_option("--seed", seed, help)->type_name("N")->check(why_no_seed);
}

}  // namespace hgemm::cli
