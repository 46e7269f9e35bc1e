// Tensors in .npy and .safetensors files. Anyone may have written the files: every number in them
// is checked against the size of the file before it is used.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hgemm {

/// The largest number of elements of a tensor that is read.
inline constexpr std::uint64_t kMostElements = std::uint64_t{1} << 28;

/// Element types that can be read, all little-endian. kE4m3 is the one without infinities, which
/// files name F8_E4M3 (OCP 8-bit Floating Point Specification 1.0, 2023).
enum class StoredType : std::uint8_t { kF16, kBf16, kF32, kF64, kE4m3, kE5m2 };
std::string_view to_string(StoredType type);  ///< "F16"

/// Where the elements of a tensor lie in a file.
struct StoredTensor {
  StoredType type = StoredType::kF32;
  std::uint64_t offset = 0;    ///< of the first byte, from the start of the file
  std::uint64_t elements = 0;  ///< 1 to kMostElements, all within the file

  std::uint64_t bytes() const;
};

/// Reads the header of an .npy file (versions 1 to 3). `head` is the start of the file, up to
/// kMostNpyHeadBytes; `place` starts the messages. Throws InputError.
inline constexpr std::size_t kMostNpyHeadBytes = 64 << 10;
StoredTensor parse_npy(std::string_view head, std::uint64_t file_bytes, const std::string& place);

/// Finds a tensor in the JSON header of a .safetensors file, which follows the file's first 8
/// bytes. An empty name: the only tensor. Throws InputError.
StoredTensor parse_safetensors(std::string_view header, std::uint64_t file_bytes,
                               std::string_view name, const std::string& place);

/// A tensor that was read.
struct TensorContent {
  StoredType type = StoredType::kF32;
  std::string bytes;
  std::string place;  ///< for messages
};

/// Whether the text looks like FILE[:TENSOR][,...] with a known ending.
bool names_tensor_file(std::string_view text);

/// Reads "FILE.npy", "FILE.safetensors" or "FILE.safetensors:TENSOR". Throws InputError.
TensorContent read_tensor(const std::string& text);

/// The elements in order, as fp32. Throws InputError at the first that is not finite.
std::vector<float> values_of(const TensorContent& tensor);

}  // namespace hgemm
