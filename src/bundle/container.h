// The outer form of a bundle: one file with a manifest and compiled kernels, in which every byte is
// checked.
//
//   hgemm-tune bundle 1\n          the magic, with the version of the form
//   <bytes of the file>\n          16 hex digits
//   <bytes of the manifest>\n      16 hex digits
//   <hash>\n                       content_hash() of the two lines above and of the manifest
//   the manifest                   JSON (bundle.h)
//   the parts                      one after another; the manifest has the bytes and hash of each
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace hgemm {

/// Why a file is not a bundle that this program can use.
enum class BundleFault : std::uint8_t {
  kNotABundle,    ///< some other file
  kOtherVersion,  ///< a bundle that another version of this program wrote
  kDamaged,       ///< not what was written
};
class BundleError : public InputError {
 public:
  BundleError(BundleFault why, const std::string& what) : InputError(what), fault(why) {}
  BundleFault fault;
};

inline constexpr std::size_t kMaxBundleBytes = std::size_t{1} << 30;

/// The file with this manifest, and the parts behind it.
std::string pack_bundle(std::string_view manifest, std::span<const std::string> parts);

/// A file's manifest and what is behind it, as views of `bytes`.
struct UnpackedBundle {
  std::string_view manifest, parts;
  std::size_t parts_offset = 0;  ///< of `parts` in the file, for messages
};
/// Checks the form, the size and the manifest's hash; who reads the manifest checks the parts.
/// `name` starts the messages. Throws BundleError.
UnpackedBundle unpack_bundle(std::string_view bytes, std::string_view name);

}  // namespace hgemm
