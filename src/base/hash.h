// Content hashes: for kernel ids, compiler output and cache keys.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hgemm {

/// XXH3-128 of the texts in order, as 32 hex digits; the same on every machine. Boundaries count:
/// {"ab", "c"} and {"a", "bc"} give different hashes.
std::string content_hash(std::span<const std::string_view> texts);
std::string content_hash(std::string_view text);

/// XXH3-64 of the bytes, for checksums of many values, where 64 bits are enough.
std::uint64_t short_hash(std::string_view bytes);

}  // namespace hgemm
