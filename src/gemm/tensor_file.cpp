#include "gemm/tensor_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace hgemm {
namespace {

using nlohmann::json;

constexpr std::string_view kNpy = ".npy";
constexpr std::string_view kSafetensors = ".safetensors";
/// The header of a model in one file has a few MB.
constexpr std::uint64_t kMostHeaderBytes = 32 << 20;
constexpr std::size_t kSafetensorsStart = 8;
constexpr std::size_t kShownNames = 5;

constexpr Word<StoredType> kTypes[] = {
    {"F16", StoredType::kF16}, {"BF16", StoredType::kBf16},    {"F32", StoredType::kF32},
    {"F64", StoredType::kF64}, {"F8_E4M3", StoredType::kE4m3}, {"F8_E5M2", StoredType::kE5m2}};
/// ml_dtypes writes bf16 as two bytes without a meaning. One byte without a meaning may be any of
/// the 8-bit types.
constexpr Word<StoredType> kNpyTypes[] = {{"<f2", StoredType::kF16},  {"<f4", StoredType::kF32},
                                          {"<f8", StoredType::kF64},  {"<V2", StoredType::kBf16},
                                          {"|V2", StoredType::kBf16}, {"V2", StoredType::kBf16}};

std::uint64_t element_bytes(StoredType type) {
  switch (type) {
    case StoredType::kE4m3:
    case StoredType::kE5m2:
      return 1;
    case StoredType::kF16:
    case StoredType::kBf16:
      return 2;
    case StoredType::kF32:
      return 4;
    case StoredType::kF64:
      return 8;
  }
  return 8;
}

[[noreturn]] void fail(const std::string& place, const std::string& what) {
  throw InputError(fmt::format("{}: {}", place, what));
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

/// The product of the extents. Each partial product is checked, so that none wraps around.
std::uint64_t count_elements(const std::vector<std::uint64_t>& shape, const std::string& place) {
  if (std::ranges::find(shape, 0u) != shape.end()) fail(place, "the tensor is empty");
  std::uint64_t elements = 1;
  for (const std::uint64_t extent : shape) {
    if (extent > kMostElements / elements) {
      fail(place, fmt::format("the tensor has more than {} elements, the most that are read",
                              kMostElements));
    }
    elements *= extent;
  }
  return elements;
}

/// The header of an .npy file: a Python dictionary with three entries.
class NpyHeader {
 public:
  NpyHeader(std::string_view text, std::string place) : rest_(text), place_(std::move(place)) {}

  void read() {
    expect('{');
    while (!take('}')) {
      read_entry(quoted());
      if (take(',')) continue;
      expect('}');
      break;
    }
    skip_blanks();
    if (!rest_.empty() || !type || !shape || !is_ordered_) malformed();
  }

  std::optional<StoredType> type;
  std::optional<std::vector<std::uint64_t>> shape;

 private:
  void read_entry(std::string_view key) {
    expect(':');
    if (key == "descr") {
      skip_blanks();
      // A list describes a structure.
      const std::string_view word = rest_.starts_with('[') ? "a structure" : quoted();
      type = find_word(kNpyTypes, word);
      if (type) return;
      if (word.ends_with("V1") || word.ends_with("f1")) {
        fail(place_, fmt::format("its elements are {}, one byte whose type an .npy file does not "
                                 "name; save 8-bit operands as .safetensors",
                                 in_quotes(word)));
      }
      fail(place_, fmt::format("its elements are {}; expected little-endian f2, f4, f8, or bf16 as "
                               "ml_dtypes writes it (<V2)",
                               in_quotes(word)));
    }
    if (key == "fortran_order") {
      if (take_word("True")) {
        fail(place_, "its columns are contiguous; save numpy.ascontiguousarray() of it");
      }
      if (!take_word("False")) malformed();
      is_ordered_ = true;
      return;
    }
    if (key != "shape") malformed();
    shape.emplace();
    expect('(');
    while (!take(')')) {
      shape->push_back(number());
      if (take(',')) continue;
      expect(')');
      break;
    }
  }

  std::string_view quoted() {
    skip_blanks();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) malformed();
    const std::size_t end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) malformed();
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::uint64_t number() {
    skip_blanks();
    const std::size_t end = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    const auto value = find_number(rest_.substr(0, end));
    if (!value) malformed();
    rest_.remove_prefix(end);
    return static_cast<std::uint64_t>(*value);
  }
  bool take_word(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool take(char c) { return take_word({&c, 1}); }
  void expect(char c) {
    if (!take(c)) malformed();
  }
  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }
  [[noreturn]] void malformed() const {
    fail(place_,
         "its header is not that of an .npy file: a dictionary of descr, fortran_order and shape");
  }

  std::string_view rest_;
  std::string place_;
  bool is_ordered_ = false;
};

/// The names of the first tensors of a header.
std::string first_names(const json& tensors) {
  std::string text;
  std::size_t shown = 0;
  for (const auto& [name, value] : tensors.items()) {
    if (shown++ == kShownNames) return text + ", ...";
    text += (text.empty() ? "" : ", ") + in_quotes(name);
  }
  return text;
}

/// A whole number that is not negative, or nullopt.
std::optional<std::uint64_t> whole(const json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  return value.get<std::uint64_t>();
}
std::optional<std::vector<std::uint64_t>> whole_numbers(const json& list) {
  if (!list.is_array()) return std::nullopt;
  std::vector<std::uint64_t> numbers;
  for (const json& value : list) {
    const auto number = whole(value);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

const json& member(const json& map, const char* key) {
  static const json kNothing;
  const auto found = map.is_object() ? map.find(key) : map.end();
  return found == map.end() ? kNothing : *found;
}

StoredTensor tensor_of(const json& entry, std::uint64_t data_offset, std::uint64_t file_bytes,
                       const std::string& place) {
  const json& dtype = member(entry, "dtype");
  const auto shape = whole_numbers(member(entry, "shape"));
  const auto offsets = whole_numbers(member(entry, "data_offsets"));
  if (!dtype.is_string() || !shape || !offsets || offsets->size() != 2) {
    fail(place, "its entry in the header has no dtype, shape and data_offsets");
  }
  const auto& word = dtype.get_ref<const std::string&>();
  const auto type = find_word(kTypes, word);
  if (!type) {
    fail(place, fmt::format("its elements are {}; expected F16, BF16, F32, F64, F8_E4M3 or F8_E5M2",
                            in_quotes(word)));
  }
  StoredTensor tensor{.type = *type, .offset = 0, .elements = count_elements(*shape, place)};
  const std::uint64_t begin = offsets->front();
  const std::uint64_t end = offsets->back();
  if (begin > end || end > file_bytes - data_offset) {
    fail(place,
         fmt::format("its bytes {} to {} are not in the file, which may be cut off", begin, end));
  }
  if (end - begin != tensor.bytes()) {
    fail(place, fmt::format("its shape needs {} bytes, and its data_offsets give {}",
                            tensor.bytes(), end - begin));
  }
  tensor.offset = data_offset + begin;
  return tensor;
}

/// The path, and the name after the colon if there is one.
struct TensorName {
  std::string path;
  std::string tensor;
};
TensorName split_name(const std::string& text) {
  const std::string with_tensor = std::string(kSafetensors) + ':';
  const std::size_t at = text.find(with_tensor);
  if (at == std::string::npos) return {text, {}};
  return {text.substr(0, at + kSafetensors.size()), text.substr(at + with_tensor.size())};
}

float half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  float size = 0;
  if (exponent == 31) {
    size = mantissa == 0 ? HUGE_VALF : NAN;
  } else if (exponent == 0) {
    size = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    size = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  }
  return bits >> 15 != 0 ? -size : size;
}

/// An e4m3 value: a sign, 4 bits of exponent with bias 7 and 3 of mantissa. There is no infinity,
/// and all ones are NaN.
float e4m3_value(std::uint8_t bits) {
  const int exponent = bits >> 3 & 15;
  const int mantissa = bits & 7;
  if (exponent == 15 && mantissa == 7) return NAN;
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                   : std::ldexp(static_cast<float>(mantissa + 8), exponent - 10);
  return bits >> 7 != 0 ? -size : size;
}

/// The element that starts at `bytes`.
float value_at(const char* bytes, StoredType type) {
  static_assert(std::endian::native == std::endian::little);
  std::uint16_t word = 0;
  float value = 0;
  double wide = 0;
  const auto byte = static_cast<std::uint8_t>(*bytes);
  switch (type) {
    case StoredType::kE4m3:
      return e4m3_value(byte);
    case StoredType::kE5m2:  // the upper half of an fp16 number
      return half_value(static_cast<std::uint16_t>(byte << 8));
    case StoredType::kF16:
      std::memcpy(&word, bytes, sizeof word);
      return half_value(word);
    case StoredType::kBf16:
      std::memcpy(&word, bytes, sizeof word);
      return std::bit_cast<float>(static_cast<std::uint32_t>(word) << 16);
    case StoredType::kF32:
      std::memcpy(&value, bytes, sizeof value);
      return value;
    case StoredType::kF64:
      std::memcpy(&wide, bytes, sizeof wide);
      // What fp32 cannot hold counts as infinite; the conversion itself would be undefined.
      return std::abs(wide) <= 3e38 ? static_cast<float>(wide) : std::isnan(wide) ? NAN : HUGE_VALF;
  }
  return NAN;
}

}  // namespace

std::string_view to_string(StoredType type) { return word_of(kTypes, type); }

std::uint64_t StoredTensor::bytes() const { return elements * element_bytes(type); }

StoredTensor parse_npy(std::string_view head, std::uint64_t file_bytes, const std::string& place) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  constexpr std::size_t kVersion = 6;
  constexpr std::size_t kLength = 8;
  if (!head.starts_with(kMagic) || head.size() < kLength) fail(place, "it is no .npy file");
  const char version = head[kVersion];
  if (version < 1 || version > 3) {
    fail(place, fmt::format("its format is version {}; expected 1, 2 or 3",
                            static_cast<int>(static_cast<unsigned char>(version))));
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t start = kLength + length_bytes;
  if (head.size() < start) fail(place, "the file is cut off");
  const std::uint64_t length = little_endian(head.substr(kLength, length_bytes));
  if (length > head.size() - start) {
    fail(place,
         fmt::format("its header has {} bytes, more than the file has or a header needs", length));
  }
  NpyHeader header(head.substr(start, length), place);
  header.read();
  const StoredTensor tensor{.type = *header.type,
                            .offset = start + length,
                            .elements = count_elements(*header.shape, place)};
  if (tensor.offset > file_bytes || tensor.bytes() > file_bytes - tensor.offset) {
    fail(place, fmt::format("the file is cut off: its shape needs {} bytes, and {} are there",
                            tensor.bytes(), file_bytes - std::min(tensor.offset, file_bytes)));
  }
  return tensor;
}

StoredTensor parse_safetensors(std::string_view header, std::uint64_t file_bytes,
                               std::string_view name, const std::string& place) {
  json tensors = json::parse(header, nullptr, false);
  if (!tensors.is_object()) fail(place, "its header is not a JSON object");
  tensors.erase("__metadata__");
  if (tensors.empty()) fail(place, "it has no tensors");
  if (name.empty() && tensors.size() > 1) {
    fail(place, fmt::format("it has {} tensors; name one of them after a colon: {}", tensors.size(),
                            first_names(tensors)));
  }
  const auto found = name.empty() ? tensors.begin() : tensors.find(std::string(name));
  if (found == tensors.end()) {
    fail(place,
         fmt::format("it has no tensor {}; it has {}", in_quotes(name), first_names(tensors)));
  }
  const std::uint64_t data_offset = kSafetensorsStart + header.size();
  if (data_offset > file_bytes) fail(place, "the file is cut off");
  return tensor_of(*found, data_offset, file_bytes,
                   fmt::format("{}, tensor {}", place, in_quotes(found.key())));
}

bool names_tensor_file(std::string_view text) {
  const std::string_view first = text.substr(0, text.find(','));
  return first.ends_with(kNpy) || first.ends_with(kSafetensors) ||
         first.find(std::string(kSafetensors) + ':') != std::string_view::npos;
}

TensorContent read_tensor(const std::string& text) {
  const TensorName name = split_name(text);
  const std::string place = fmt::format("--data {}", name.path);
  StoredTensor tensor;
  if (name.path.ends_with(kNpy)) {
    const FilePart head = read_part(name.path, 0, kMostNpyHeadBytes);
    tensor = parse_npy(head.bytes, head.file_bytes, place);
  } else if (name.path.ends_with(kSafetensors)) {
    const FilePart start = read_part(name.path, 0, kSafetensorsStart);
    if (start.bytes.size() < kSafetensorsStart) fail(place, "the file is cut off");
    const std::uint64_t length = little_endian(start.bytes);
    if (length > kMostHeaderBytes || length > start.file_bytes - kSafetensorsStart) {
      fail(place, fmt::format("its header has {} bytes, more than the file has or a header needs",
                              length));
    }
    const FilePart header =
        read_part(name.path, kSafetensorsStart, static_cast<std::size_t>(length));
    if (header.bytes.size() < length) fail(place, "the file is cut off");
    tensor = parse_safetensors(header.bytes, header.file_bytes, name.tensor, place);
  } else {
    fail(place, "expected a file whose name ends with .npy or .safetensors");
  }
  TensorContent content{
      .type = tensor.type,
      .bytes = read_part(name.path, tensor.offset, static_cast<std::size_t>(tensor.bytes())).bytes,
      .place = fmt::format("--data {}", text)};
  if (content.bytes.size() < tensor.bytes()) fail(place, "the file is cut off");
  return content;
}

std::vector<float> values_of(const TensorContent& tensor) {
  const auto size = static_cast<std::size_t>(element_bytes(tensor.type));
  std::vector<float> values(tensor.bytes.size() / size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = value_at(tensor.bytes.data() + i * size, tensor.type);
    if (std::isfinite(values[i])) continue;
    fail(tensor.place, fmt::format("element {} is {} in fp32; expected finite numbers", i,
                                   std::isnan(values[i]) ? "NaN" : "infinite"));
  }
  return values;
}

}  // namespace hgemm
