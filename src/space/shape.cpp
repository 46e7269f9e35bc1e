#include "space/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "space/shapes_file.h"
#include "space/words.h"
#include "space/yaml.h"

namespace hgemm {
namespace {

/// Is this meant as "MxNxK,..."? Names of files may start with a digit ("70b", "8x7b.yaml") too.
bool looks_inline(const std::string& argument) {
  if (argument.find('/') != std::string::npos || argument.ends_with(".yaml") ||
      argument.ends_with(".yml"))
    return false;
  return argument.find_first_of("0123456789+-, ") == 0 &&
         (argument.find_first_of("xX,") != std::string::npos ||
          argument.find_first_not_of("0123456789") == std::string::npos);
}

std::vector<Shape> parse_inline(const std::string& argument) {
  std::vector<Shape> shapes;
  for (std::size_t begin = 0; begin <= argument.size();) {
    const std::size_t end = std::min(argument.find(',', begin), argument.size());
    const std::size_t first = std::min(argument.find_first_not_of(' ', begin), end);
    shapes.push_back(parse_shape(
        std::string_view(argument).substr(first, end - first), Dtype::kBf16,
        fmt::format("--shapes, item {} at character {}", shapes.size() + 1, first + 1)));
    begin = end + 1;
  }
  return shapes;
}

/// Shapes of the same problem become the first of them, with the sum of their weights.
std::vector<Shape> merge(const std::vector<Shape>& shapes) {
  std::vector<Shape> merged;
  std::vector<std::vector<std::string>> tags;  // of each merged shape, distinct
  for (const Shape& shape : shapes) {
    auto same = std::find_if(merged.begin(), merged.end(),
                             [&](const Shape& other) { return other.same_problem(shape); });
    if (same == merged.end()) {
      same = merged.insert(same, shape);
      tags.emplace_back();
    } else {
      same->weight += shape.weight;
    }
    auto& of_shape = tags[static_cast<std::size_t>(same - merged.begin())];
    if (!shape.tag.empty() &&
        std::find(of_shape.begin(), of_shape.end(), shape.tag) == of_shape.end())
      of_shape.push_back(shape.tag);
  }
  for (std::size_t i = 0; i < merged.size(); ++i)
    merged[i].tag = fmt::format("{}", fmt::join(tags[i], "+"));
  return merged;
}

}  // namespace

std::string to_string(const Shape& shape) {
  std::string text = fmt::format("{}x{}x{}", shape.m, shape.n, shape.k);
  if (shape.dtype != Dtype::kBf16) text += fmt::format(".{}", to_string(shape.dtype));
  if (shape.leading_a() != shape.k) text += fmt::format(".lda{}", shape.lda);
  if (shape.leading_b() != shape.k) text += fmt::format(".ldb{}", shape.ldb);
  if (shape.leading_d() != shape.n) text += fmt::format(".ldd{}", shape.ldd);
  return text;
}

const char* why_unsupported(const Shape& shape) {
  const Rule rule = why_invalid(KernelConfig{.dtype = shape.dtype});
  return rule == Rule::kValid ? why_unsupported(shape.extents()) : rule_text(rule).reason;
}

std::string_view to_string(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBf16:
      return "bf16";
    case Dtype::kFp16:
      return "fp16";
    case Dtype::kFp32:
      return "fp32";
  }
  return "?";
}
std::string_view to_string(Layout) { return "TN"; }

Dtype parse_dtype(std::string_view text) {
  if (const auto dtype = find_dtype(text)) return *dtype;
  throw InputError(
      fmt::format("found {} for dtype; expected bf16, fp16 or fp32; correct it", in_quotes(text)));
}

Layout parse_layout(std::string_view text) {
  if (const auto layout = find_layout(text)) return *layout;
  throw InputError(fmt::format("found {} for layout; expected TN (the only one so far); correct it",
                               in_quotes(text)));
}

std::vector<Shape> load_shapes(const std::string& argument, const std::string& configs_dir) {
  if (looks_inline(argument)) return merge(parse_inline(argument));
  const std::string path =
      find_yaml(argument, std::filesystem::path(configs_dir) / "shapes", "shapes");
  return merge(read_shapes_file(path));
}

}  // namespace hgemm
