#include "base/hash.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>

#define XXH_INLINE_ALL  // header-only: nothing to link
#include <xxhash.h>

namespace hgemm {

std::string content_hash(std::span<const std::string_view> texts) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (const std::string_view text : texts) {
    std::array<unsigned char, 8> size;  // little-endian on every machine
    for (std::size_t i = 0; i < size.size(); ++i) {
      size[i] = static_cast<unsigned char>(std::uint64_t{text.size()} >> (8 * i));
    }
    XXH3_128bits_update(&state, size.data(), size.size());
    XXH3_128bits_update(&state, text.data(), text.size());
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string content_hash(std::string_view text) { return content_hash(std::span(&text, 1)); }

std::uint64_t short_hash(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace hgemm
