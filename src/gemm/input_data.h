// What A and B hold while a problem is timed. It is a part of the problem: data moves power, and so
// times at the power cap.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hgemm {

enum class DataKind : std::uint8_t {
  kNormal,    ///< A ~ N(0, 1), B ~ N(0, 1 / K)
  kUniform,   ///< the same variances, between -sqrt(3) and sqrt(3) of these standard deviations
  kIntegers,  ///< -4 to 4; B times a power of two
  kZeros,
  kSparse,  ///< normal, and every element is zero with probability 1/2
  kFile,    ///< tensors from files
};

struct InputData {
  DataKind kind = DataKind::kNormal;
  std::uint64_t hash = 0;  ///< of the tensors of kFile: their types and bytes
  /// "FILE[:TENSOR][,FILE[:TENSOR]]", the tensors of A and of B; one is for both. Not part of
  /// identity: the same tensors may lie anywhere. Empty for data that was read from a key.
  std::string files = {};

  bool is_normal() const { return kind == DataKind::kNormal; }
  /// True if a tensor must be read, and nothing says from where.
  bool lacks_files() const { return kind == DataKind::kFile && files.empty(); }
  friend bool operator==(const InputData& a, const InputData& b) {
    return a.kind == b.kind && a.hash == b.hash;
  }
};

/// The values of find_input_data(), for messages.
inline constexpr std::string_view kInputDataWords =
    "normal, uniform, integers, zeros, sparse or file-<16 hex digits>";

/// The kind, or "file-0123456789abcdef" with the hash of a file's tensors.
std::string to_string(const InputData& data);
std::optional<InputData> find_input_data(std::string_view word);

/// Reads the argument of --data: a word, or .npy and .safetensors files, whose tensors it reads to
/// find their hash. Throws InputError.
InputData read_input_data(const std::string& argument);

/// The values of kFile: of A in front, of B at the back. Throws InputError if nothing says where
/// they are, if a file cannot be read, or if its tensor is not the one with the hash.
std::vector<std::vector<float>> load_values(const InputData& data);

/// The power of two that brings the root mean square of the values closest to `wanted`. It changes
/// exponents and keeps mantissas. 1 if all values are zero.
double power_of_two_scale(std::span<const float> values, double wanted);

}  // namespace hgemm
