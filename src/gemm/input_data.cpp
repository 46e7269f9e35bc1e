#include "gemm/input_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "gemm/tensor_file.h"

namespace hgemm {
namespace {

constexpr Word<DataKind> kKinds[] = {{"normal", DataKind::kNormal},
                                     {"uniform", DataKind::kUniform},
                                     {"integers", DataKind::kIntegers},
                                     {"zeros", DataKind::kZeros},
                                     {"sparse", DataKind::kSparse}};
constexpr std::string_view kFilePrefix = "file-";
constexpr std::size_t kHashDigits = 16;

/// The tensors of A and B. One tensor, if both are the same.
std::vector<TensorContent> read_tensors(const std::string& files) {
  const std::size_t comma = files.find(',');
  std::vector<TensorContent> tensors;
  tensors.push_back(read_tensor(files.substr(0, comma)));
  if (comma == std::string::npos) return tensors;
  const std::string second = files.substr(comma + 1);
  if (second.find(',') != std::string::npos) {
    throw InputError(fmt::format(
        "--data {}: more than two files; give one for A and one for B, or one for both", files));
  }
  tensors.push_back(read_tensor(second));
  return tensors;
}

std::uint64_t hash_of(const std::vector<TensorContent>& tensors) {
  // One tensor for both is the same data as that tensor twice.
  std::vector<std::string_view> texts;
  for (const TensorContent* tensor : {&tensors.front(), &tensors.back()}) {
    texts.push_back(to_string(tensor->type));
    texts.push_back(tensor->bytes);
  }
  const std::string digits = content_hash(texts).substr(0, kHashDigits);
  std::uint64_t hash = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), hash, 16);
  return hash;
}

}  // namespace

std::string to_string(const InputData& data) {
  if (data.kind == DataKind::kFile) return fmt::format("{}{:016x}", kFilePrefix, data.hash);
  return std::string(word_of(kKinds, data.kind));
}

std::optional<InputData> find_input_data(std::string_view word) {
  if (const auto kind = find_word(kKinds, word)) return InputData{.kind = *kind};
  if (!word.starts_with(kFilePrefix)) return std::nullopt;
  word.remove_prefix(kFilePrefix.size());
  // Only small digits, so that each problem has one key.
  const bool is_hash = word.size() == kHashDigits && std::ranges::all_of(word, [](char c) {
                         return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                       });
  if (!is_hash) return std::nullopt;
  InputData data{.kind = DataKind::kFile};
  std::from_chars(word.data(), word.data() + word.size(), data.hash, 16);
  return data;
}

InputData read_input_data(const std::string& argument) {
  if (const auto known = find_input_data(argument)) return *known;
  if (!names_tensor_file(argument)) {
    throw InputError(fmt::format(
        "--data {}: expected normal, uniform, integers, zeros or sparse, or a .npy or .safetensors "
        "file (FILE.safetensors:TENSOR names one of several tensors)",
        in_quotes(argument)));
  }
  const std::vector<TensorContent> tensors = read_tensors(argument);
  for (const TensorContent& tensor : tensors) values_of(tensor);  // refuses NaN and Inf now
  return {.kind = DataKind::kFile, .hash = hash_of(tensors), .files = argument};
}

std::vector<std::vector<float>> load_values(const InputData& data) {
  if (data.lacks_files()) {
    throw InputError(fmt::format(
        "the data is {}, tensors from a file, and nothing says where they are; name the file with "
        "--data",
        to_string(data)));
  }
  const std::vector<TensorContent> tensors = read_tensors(data.files);
  if (hash_of(tensors) != data.hash) {
    throw InputError(fmt::format(
        "--data {}: its tensors are not {} any more: the file has changed; run the command again",
        data.files, to_string(data)));
  }
  std::vector<std::vector<float>> values;
  for (const TensorContent& tensor : tensors) values.push_back(values_of(tensor));
  return values;
}

double power_of_two_scale(std::span<const float> values, double wanted) {
  double squares = 0;
  for (const float value : values) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  if (squares == 0) return 1;
  const double rms = std::sqrt(squares / static_cast<double>(values.size()));
  return std::exp2(std::round(std::log2(wanted / rms)));
}

}  // namespace hgemm
