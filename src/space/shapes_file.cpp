#include "space/shapes_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "space/words.h"
#include "space/yaml.h"

namespace hgemm {
namespace {

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 30;
constexpr std::size_t kMaxShapes = 10'000;
/// Rows from which a model's GEMM is called prefill rather than decode.
constexpr std::int64_t kPrefillRows = 256;

constexpr const char* kFileHolds = "a map with `shapes:` or `model:`";

constexpr std::array<std::pair<std::string_view, std::int64_t Shape::*>, 3> kLeadingDimensions = {
    {{"lda", &Shape::lda}, {"ldb", &Shape::ldb}, {"ldd", &Shape::ldd}}};

/// `place` begins the message of a leading dimension that is too small.
void check_padding(const Shape& shape, const std::string& place) {
  const auto check = [&](const char* name, std::int64_t leading, const char* row,
                         std::int64_t length) {
    if (leading >= length) return;
    throw InputError(fmt::format(
        "{}: found {} for {}; expected at least {}, {}, the length of a row; leave it out for rows "
        "without padding",
        place, leading, name, row, length));
  };
  check("lda", shape.leading_a(), "K", shape.k);
  check("ldb", shape.leading_b(), "K", shape.k);
  check("ldd", shape.leading_d(), "N", shape.n);
}

class ShapesReader {
 public:
  explicit ShapesReader(const std::string& path) : file_(YamlFile::read(path, kFileHolds)) {}

  std::vector<Shape> read() {
    if (file_.root().IsSequence()) {
      read_list(file_.root());
      return std::move(shapes_);
    }
    const YamlMap root = file_.map(file_.root(), "a shapes file", {"shapes", "model", "dtype"});
    if (const auto dtype = root.find("dtype")) dtype_ = read_dtype(*dtype);
    const auto shapes = root.find("shapes");
    const auto models = root.find("model");
    if (!shapes && !models)
      file_.fail(root.mark(), fmt::format("neither `shapes:` nor `model:`; expected {}; add one of "
                                          "them",
                                          kFileHolds));
    if (shapes) read_list(*shapes);
    if (models) read_models(*models);
    return std::move(shapes_);
  }

 private:
  void read_list(const YAML::Node& list) {
    if (!list.IsSequence() || list.size() == 0)
      file_.fail(list.Mark(),
                 fmt::format("found {} for shapes; expected a list of shapes; write one "
                             "\"- {{m: 1, n: 4096, k: 4096}}\" per line",
                             list.IsSequence() ? "an empty list" : describe(list)));
    for (const YAML::Node& item : list) {
      if (item.IsScalar())
        add(item.Mark(), parse_shape(item.Scalar(), dtype_, file_.place(item.Mark())));
      else
        read_product(item);
    }
  }

  void read_product(const YAML::Node& node) {
    const YamlMap map = file_.map(
        node, "a shape", {"m", "n", "k", "tag", "weight", "dtype", "layout", "lda", "ldb", "ldd"});
    Shape shape;
    shape.dtype = map.find("dtype") ? read_dtype(map.at("dtype")) : dtype_;
    if (const auto tag = map.find("tag")) shape.tag = file_.text(*tag, "tag");
    if (const auto weight = map.find("weight")) shape.weight = read_weight(*weight);
    if (const auto layout = map.find("layout"))
      shape.layout = file_.word(*layout, "layout", find_layout, {"TN"});
    for (const auto& [name, member] : kLeadingDimensions) {
      const std::string key(name);
      if (const auto leading = map.find(key)) {
        shape.*member = file_.number(*leading, key, 1, kMaxExtent);
      }
    }
    const auto n_values = file_.numbers(map.at("n"), "n", 1, kMaxExtent);
    const auto k_values = file_.numbers(map.at("k"), "k", 1, kMaxExtent);
    for (const std::int64_t m : file_.numbers(map.at("m"), "m", 1, kMaxExtent))
      for (const std::int64_t n : n_values)
        for (const std::int64_t k : k_values) {
          shape.m = m;
          shape.n = n;
          shape.k = k;
          check_padding(shape, file_.place(map.mark()));
          add(map.mark(), shape);
        }
  }

  void read_models(const YAML::Node& node) {
    const std::vector<YAML::Node> models = file_.items(node, "model");
    for (const YAML::Node& model : models) read_model(model, models.size() > 1);
  }

  /// The linear layers of a decoder: attention with grouped key/value heads, gated feed-forward.
  /// Tensor parallelism splits heads, ffn and vocab; hidden stays whole.
  void read_model(const YAML::Node& node, bool one_of_several) {
    const YamlMap map = file_.map(node, "a model",
                                  {"name", "hidden", "ffn", "heads", "kv_heads", "head_dim",
                                   "vocab", "layers", "tensor_parallel", "m", "dtype"});
    const auto number = [&](const char* key, std::optional<std::int64_t> otherwise = {}) {
      const auto value = otherwise ? map.find(key) : map.at(key);
      return value ? file_.number(*value, key, 1, kMaxExtent) : *otherwise;
    };
    const std::int64_t hidden = number("hidden");
    const std::int64_t ffn = number("ffn");
    const std::int64_t heads = number("heads");
    const std::int64_t kv_heads = number("kv_heads", heads);
    const std::int64_t vocab = number("vocab");
    const std::int64_t layers = number("layers", 1);
    const std::int64_t parallel = number("tensor_parallel", 1);

    const auto divide = [&](const char* key, std::int64_t value, const char* by,
                            std::int64_t divisor) {
      if (value % divisor != 0)
        file_.fail(map.find(key).value_or(node).Mark(),
                   fmt::format("found {} {}, which {} {} does not divide; expected a multiple of "
                               "{}; change {} or {}",
                               key, value, by, divisor, divisor, key, by));
      return value / divisor;
    };
    if (!map.find("head_dim")) divide("hidden", hidden, "heads", heads);
    const std::int64_t head_dim = number("head_dim", hidden / heads);
    divide("heads", heads, "kv_heads", kv_heads);
    const std::int64_t rank_heads = divide("heads", heads, "tensor_parallel", parallel);
    const std::int64_t rank_kv_heads = divide("kv_heads", kv_heads, "tensor_parallel", parallel);
    const std::int64_t rank_ffn = divide("ffn", ffn, "tensor_parallel", parallel);
    const std::int64_t rank_vocab = divide("vocab", vocab, "tensor_parallel", parallel);

    const std::string name =
        one_of_several || map.find("name") ? file_.text(map.at("name"), "name") : "";
    const std::string prefix = one_of_several ? name + "/" : "";
    const auto times = static_cast<double>(layers);
    struct Linear {
      const char* name;
      std::int64_t n, k;
      double weight;
    };
    const std::array<Linear, 5> linears = {{
        {"qkv", (rank_heads + 2 * rank_kv_heads) * head_dim, hidden, times},
        {"attn_out", hidden, rank_heads * head_dim, times},
        {"ffn_gate_up", rank_ffn, hidden, 2 * times},
        {"ffn_down", hidden, rank_ffn, times},
        {"logits", rank_vocab, hidden, 1},
    }};

    Shape shape;
    shape.dtype = map.find("dtype") ? read_dtype(map.at("dtype")) : dtype_;
    for (const std::int64_t m : file_.numbers(map.at("m"), "m", 1, kMaxExtent))
      for (const Linear& linear : linears) {
        if (std::max(linear.n, linear.k) > kMaxExtent)
          file_.fail(node.Mark(), fmt::format("its {} is {} x {}; expected at most {}; check heads "
                                              "and head_dim",
                                              linear.name, linear.n, linear.k, kMaxExtent));
        shape.m = m;
        shape.n = linear.n;
        shape.k = linear.k;
        shape.weight = linear.weight;
        shape.tag =
            fmt::format("{}{}/{}", prefix, m >= kPrefillRows ? "prefill" : "decode", linear.name);
        add(node.Mark(), shape);
      }
  }

  Dtype read_dtype(const YAML::Node& node) const {
    return file_.word(node, "dtype", find_dtype, {"bf16", "fp16", "fp32"});
  }

  double read_weight(const YAML::Node& node) const {
    const std::string text = file_.text(node, "weight");
    double weight = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(weight) ||
        weight <= 0)
      file_.fail(node.Mark(), fmt::format("found {} for weight; expected a number above 0; correct "
                                          "it",
                                          in_quotes(text)));
    return weight;
  }

  void add(const YAML::Mark& mark, const Shape& shape) {
    if (shapes_.size() == kMaxShapes)
      file_.fail(mark,
                 fmt::format("more than {} shapes; expected fewer; split the file", kMaxShapes));
    shapes_.push_back(shape);
  }

  YamlFile file_;
  Dtype dtype_ = Dtype::kBf16;
  std::vector<Shape> shapes_;
};

/// A field after MxNxK: the type, or a leading dimension. False if it is neither, or comes twice.
bool read_field(std::string_view field, Shape& shape, bool& has_type) {
  if (const auto dtype = find_dtype(field)) {
    shape.dtype = *dtype;
    return !std::exchange(has_type, true);
  }
  for (const auto& [name, member] : kLeadingDimensions) {
    if (!field.starts_with(name)) continue;
    const auto number = find_number(field.substr(name.size()));
    if (shape.*member != 0 || !number || *number < 1 || *number > kMaxExtent) return false;
    shape.*member = *number;
    return true;
  }
  return false;
}

}  // namespace

Shape parse_shape(std::string_view text, Dtype dtype, const std::string& place) {
  const auto reject = [&](const std::string& found) {
    throw InputError(
        fmt::format("{}: found {}; expected MxNxK, three whole numbers from 1 to {}; "
                    "write it like 4096x4096x1024, 4096x4096x1024.fp16 or, with leading "
                    "dimensions, 4096x4096x1000.lda1024.ldb1024",
                    place, found, kMaxExtent));
  };
  Shape shape;
  shape.dtype = dtype;
  std::string_view rest = text;
  auto dot = rest.find('.');
  std::string_view fields = dot == rest.npos ? std::string_view{} : rest.substr(dot + 1);
  const bool has_fields = dot != rest.npos;
  rest = rest.substr(0, dot);
  for (std::int64_t* extent : {&shape.m, &shape.n, &shape.k}) {
    const bool last = extent == &shape.k;
    const auto end = last ? rest.size() : rest.find_first_of("xX");
    if (end == std::string_view::npos) reject(in_quotes(text));
    const auto number = find_number(rest.substr(0, end));
    if (!number || *number < 1 || *number > kMaxExtent) reject(in_quotes(text));
    *extent = *number;
    rest = last ? std::string_view{} : rest.substr(end + 1);
  }
  bool has_type = false;
  for (bool more = has_fields; more; fields = more ? fields.substr(dot + 1) : fields) {
    dot = fields.find('.');
    more = dot != fields.npos;
    if (!read_field(fields.substr(0, dot), shape, has_type)) reject(in_quotes(text));
  }
  check_padding(shape, place);
  return shape;
}

std::vector<Shape> read_shapes_file(const std::string& path) { return ShapesReader(path).read(); }

}  // namespace hgemm
