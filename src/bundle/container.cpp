#include "bundle/container.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

#include "base/hash.h"
#include "base/text.h"

namespace hgemm {
namespace {

constexpr std::string_view kMagic = "hgemm-tune bundle ";
constexpr std::string_view kVersionLine = "1\n";
constexpr std::size_t kNumberDigits = 16;
constexpr std::size_t kHashDigits = 32;
constexpr std::size_t kSizesOffset = kMagic.size() + kVersionLine.size();
constexpr std::size_t kSizesBytes = 2 * (kNumberDigits + 1);
constexpr std::size_t kHashOffset = kSizesOffset + kSizesBytes;
constexpr std::size_t kHeaderBytes = kHashOffset + kHashDigits + 1;

std::string hash_of(std::string_view sizes, std::string_view manifest) {
  const std::array texts{sizes, manifest};
  return content_hash(texts);
}

/// The number of a line of 16 hex digits.
std::optional<std::size_t> number_of(std::string_view line) {
  std::size_t number = 0;
  const char* const end = line.data() + kNumberDigits;
  const auto [stop, error] = std::from_chars(line.data(), end, number, 16);
  if (error != std::errc{} || stop != end || line[kNumberDigits] != '\n') return std::nullopt;
  return number;
}

void check_magic(std::string_view bytes, std::string_view name) {
  if (!bytes.starts_with(kMagic)) {
    throw BundleError(BundleFault::kNotABundle,
                      fmt::format("{} is no bundle: it does not begin with {}; hgemm-tune export "
                                  "--format bundle writes one",
                                  name, in_quotes(kMagic)));
  }
  const std::string_view version = bytes.substr(kMagic.size(), kVersionLine.size());
  if (bytes.size() > kSizesOffset && version != kVersionLine) {
    throw BundleError(BundleFault::kOtherVersion,
                      fmt::format("{} is a bundle of form {}, and this version reads form 1; "
                                  "export it again with the hgemm-tune that is used here",
                                  name, in_quotes(version.substr(0, 1))));
  }
}

}  // namespace

std::string pack_bundle(std::string_view manifest, std::span<const std::string> parts) {
  std::size_t total = kHeaderBytes + manifest.size();
  for (const std::string& part : parts) total += part.size();
  if (total > kMaxBundleBytes) {
    throw InputError(
        fmt::format("the bundle would have {} bytes, and at most {} are read; export "
                    "fewer shapes, or choose few kernels with --max-kernels",
                    total, kMaxBundleBytes));
  }
  const std::string sizes = fmt::format("{:016x}\n{:016x}\n", total, manifest.size());
  std::string bytes =
      fmt::format("{}{}{}{}\n{}", kMagic, kVersionLine, sizes, hash_of(sizes, manifest), manifest);
  bytes.reserve(total);
  for (const std::string& part : parts) bytes += part;
  return bytes;
}

UnpackedBundle unpack_bundle(std::string_view bytes, std::string_view name) {
  check_magic(bytes, name);
  const auto damaged = [&](const std::string& where) {
    return BundleError(BundleFault::kDamaged,
                       fmt::format("{} is damaged: {}; copy or export it again", name, where));
  };
  if (bytes.size() < kHeaderBytes) {
    throw damaged(fmt::format("it ends at byte {}, within its header of {} bytes", bytes.size(),
                              kHeaderBytes));
  }
  const auto total = number_of(bytes.substr(kSizesOffset));
  const auto manifest_bytes = number_of(bytes.substr(kSizesOffset + kNumberDigits + 1));
  if (!total || !manifest_bytes || bytes[kHeaderBytes - 1] != '\n') {
    throw damaged(fmt::format("bytes {} to {} are not the sizes and the hash that belong there",
                              kSizesOffset, kHeaderBytes));
  }
  if (*total != bytes.size()) {
    throw damaged(fmt::format("it has {} bytes, and should have {}", bytes.size(), *total));
  }
  if (*manifest_bytes > bytes.size() - kHeaderBytes) {
    throw damaged(fmt::format("its manifest should have {} bytes, and the file has {}",
                              *manifest_bytes, bytes.size()));
  }
  UnpackedBundle unpacked{bytes.substr(kHeaderBytes, *manifest_bytes),
                          bytes.substr(kHeaderBytes + *manifest_bytes),
                          kHeaderBytes + *manifest_bytes};
  const std::string_view sizes = bytes.substr(kSizesOffset, kSizesBytes);
  if (bytes.substr(kHashOffset, kHashDigits) != hash_of(sizes, unpacked.manifest)) {
    throw damaged(
        fmt::format("bytes {} to {}, its header and its manifest, are not those that were written",
                    kSizesOffset, unpacked.parts_offset));
  }
  return unpacked;
}

}  // namespace hgemm
