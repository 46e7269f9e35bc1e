#include "gemm/problem_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/yaml.h"
#include "gemm/codec.h"
#include "gemm/decoder.h"

namespace hgemm {
namespace {

constexpr std::size_t kMaxShapes = 10'000;
/// Far above any weight of a pass. Sums of such weights and their products with times are finite.
constexpr double kMaxWeight = 1e15;
/// The execution of the recorded results: separate gate and up, logits of every token.
constexpr Execution kExecution = {.fused_gate_up = false, .last_logits = false, .pad_vocab = false};

constexpr const char* kFileHolds = "a map with `shapes:` or `model:`";

class ProblemsReader {
 public:
  explicit ProblemsReader(YamlFile file) : file_(std::move(file)) {}

  std::vector<GemmProblem> read() {
    if (file_.root().IsSequence()) {
      read_list(file_.root());
      return std::move(problems_);
    }
    check_no_config(file_.root());
    const YamlMap root = file_.map(file_.root(), "a shapes file", {"shapes", "model", "dtype"});
    if (const auto dtype = root.find("dtype")) type_ = read_type(*dtype);
    const auto shapes = root.find("shapes");
    const auto models = root.find("model");
    if (!shapes && !models)
      file_.fail(root.mark(), fmt::format("neither `shapes:` nor `model:`; expected {}; add one of "
                                          "them",
                                          kFileHolds));
    if (shapes) read_list(*shapes);
    if (models) read_models(*models);
    return std::move(problems_);
  }

 private:
  /// A config.json is YAML too.
  void check_no_config(const YAML::Node& root) const {
    if (!root.IsMap() || !(root["model_type"] || root["architectures"])) return;
    file_.fail(root.Mark(),
               fmt::format("found the config.json of a Hugging Face model; expected {};"
                           " give it with --model instead of --shapes",
                           kFileHolds));
  }

  void read_list(const YAML::Node& list) {
    if (!list.IsSequence() || list.size() == 0)
      file_.fail(list.Mark(),
                 fmt::format("found {} for shapes; expected a list of shapes; write one "
                             "\"- {{m: 1, n: 4096, k: 4096}}\" per line",
                             list.IsSequence() ? "an empty list" : describe(list)));
    for (const YAML::Node& item : list) {
      if (item.IsScalar())
        add(item.Mark(), parse_problem(item.Scalar(), type_, file_.place(item.Mark())));
      else
        read_product(item);
    }
  }

  /// m, n and k have several values each; every other attribute of a problem has one.
  void read_product(const YAML::Node& node) {
    std::vector<std::string> keys = {"tag", "weight", "dtype"};
    for (const ProblemField& field : problem_fields()) keys.emplace_back(field.name);
    const YamlMap map = file_.map(node, "a shape", keys);
    GemmProblem problem;
    problem.set_types(map.find("dtype") ? read_type(map.at("dtype")) : type_);
    if (const auto tag = map.find("tag")) problem.tag = file_.text(*tag, "tag");
    if (const auto weight = map.find("weight")) problem.weight = read_weight(*weight);
    const auto m_values = file_.numbers(map.at("m"), "m", 1, kMaxExtent);
    const auto n_values = file_.numbers(map.at("n"), "n", 1, kMaxExtent);
    const auto k_values = file_.numbers(map.at("k"), "k", 1, kMaxExtent);
    for (const ProblemField& field : problem_fields()) {
      const bool is_extent = field.name == "m" || field.name == "n" || field.name == "k";
      const auto value = map.find(std::string(field.name));
      if (is_extent || !value) continue;
      if (!value->IsScalar() || !field.parse(problem, value->Scalar())) {
        file_.fail(value->Mark(), fmt::format("found {} for {}; expected {}; correct it",
                                              describe(*value), field.name, field.values));
      }
    }
    for (const std::int64_t m : m_values)
      for (const std::int64_t n : n_values)
        for (const std::int64_t k : k_values) {
          problem.m = m;
          problem.n = n;
          problem.k = k;
          check_padding(problem, file_.place(map.mark()));
          add(map.mark(), problem);
        }
  }

  void read_models(const YAML::Node& node) {
    const std::vector<YAML::Node> models = file_.items(node, "model");
    for (const YAML::Node& model : models) read_model(model, models.size() > 1);
  }

  /// A decoder with grouped key/value heads and gated feed-forward.
  void read_model(const YAML::Node& node, bool one_of_several) {
    const YamlMap map = file_.map(node, "a model",
                                  {"name", "hidden", "ffn", "heads", "kv_heads", "head_dim",
                                   "vocab", "layers", "tensor_parallel", "m", "dtype"});
    const auto number = [&](const char* key, std::optional<std::int64_t> otherwise = {}) {
      const auto value = otherwise ? map.find(key) : map.at(key);
      return value ? file_.number(*value, key, 1, kMaxExtent) : *otherwise;
    };
    Decoder decoder;
    decoder.hidden = number("hidden");
    decoder.ffn = number("ffn");
    decoder.heads = number("heads");
    decoder.kv_heads = number("kv_heads", decoder.heads);
    decoder.vocab = number("vocab");
    decoder.layers = number("layers", 1);
    decoder.dense_layers = decoder.layers;
    if (!map.find("head_dim") && decoder.hidden % decoder.heads != 0)
      fail_uneven(map, "hidden", decoder.hidden, "heads", decoder.heads);
    decoder.head_dim = number("head_dim", decoder.hidden / decoder.heads);
    Execution execution = kExecution;
    execution.tensor_parallel = number("tensor_parallel", 1);
    if (const auto uneven = find_uneven(decoder, execution))
      fail_uneven(map, key_of(uneven->dimension), uneven->value,
                  uneven->by_kv_heads ? "kv_heads" : "tensor_parallel", uneven->divisor);

    const std::string name =
        one_of_several || map.find("name") ? file_.text(map.at("name"), "name") : "";
    const DataType type = map.find("dtype") ? read_type(map.at("dtype")) : type_;
    for (const std::int64_t m : file_.numbers(map.at("m"), "m", 1, kMaxExtent))
      for (GemmProblem& problem : gemms_of(decoder, execution, m, type)) {
        if (std::max(problem.n, problem.k) > kMaxExtent)
          file_.fail(node.Mark(), fmt::format("its {} is {} x {}; expected at most {}; check heads "
                                              "and head_dim",
                                              problem.tag, problem.n, problem.k, kMaxExtent));
        if (one_of_several) problem.tag = fmt::format("{}/{}", name, problem.tag);
        add(node.Mark(), problem);
      }
  }

  [[noreturn]] void fail_uneven(const YamlMap& map, const char* key, std::int64_t value,
                                const char* by, std::int64_t divisor) const {
    const auto node = map.find(key);
    file_.fail(node ? node->Mark() : map.mark(),
               fmt::format("found {} {}, which {} {} does not divide; expected a multiple of "
                           "{}; change {} or {}",
                           key, value, by, divisor, divisor, key, by));
  }

  static const char* key_of(Dimension dimension) {
    switch (dimension) {
      case Dimension::kHeads:
        return "heads";
      case Dimension::kKvHeads:
        return "kv_heads";
      case Dimension::kVocab:
        return "vocab";
      default:
        return "ffn";
    }
  }

  DataType read_type(const YAML::Node& node) const {
    return file_.word(node, "dtype", find_data_type, {"bf16", "fp16", "fp32", "e4m3", "e5m2"});
  }

  double read_weight(const YAML::Node& node) const {
    const std::string text = file_.text(node, "weight");
    double weight = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(weight) ||
        weight <= 0 || weight > kMaxWeight)
      file_.fail(node.Mark(), fmt::format("found {} for weight; expected a number above 0, at most "
                                          "{:g}; correct it",
                                          in_quotes(text), kMaxWeight));
    return weight;
  }

  void add(const YAML::Mark& mark, const GemmProblem& problem) {
    if (problems_.size() == kMaxShapes)
      file_.fail(mark,
                 fmt::format("more than {} shapes; expected fewer; split the file", kMaxShapes));
    problems_.push_back(problem);
  }

  YamlFile file_;
  DataType type_ = DataType::kBf16;
  std::vector<GemmProblem> problems_;
};

/// True if the argument is a list "MxNxK,...". File names may start with a digit, too ("70b",
/// "8x7b.yaml").
bool looks_inline(const std::string& argument) {
  if (argument.find('/') != std::string::npos || argument.ends_with(".yaml") ||
      argument.ends_with(".yml"))
    return false;
  return argument.find_first_of("0123456789+-, ") == 0 &&
         (argument.find_first_of("xX,") != std::string::npos ||
          argument.find_first_not_of("0123456789") == std::string::npos);
}

std::vector<GemmProblem> parse_inline(const std::string& argument) {
  std::vector<GemmProblem> problems;
  for (std::size_t begin = 0; begin <= argument.size();) {
    if (problems.size() == kMaxShapes)
      throw InputError(
          fmt::format("--shapes: more than {} shapes; expected fewer; split the list", kMaxShapes));
    const std::size_t end = std::min(argument.find(',', begin), argument.size());
    const std::size_t first = std::min(argument.find_first_not_of(' ', begin), end);
    problems.push_back(parse_problem(
        std::string_view(argument).substr(first, end - first), DataType::kBf16,
        fmt::format("--shapes, item {} at character {}", problems.size() + 1, first + 1)));
    begin = end + 1;
  }
  return problems;
}

}  // namespace

std::vector<GemmProblem> merge_problems(std::span<const GemmProblem> problems) {
  std::vector<GemmProblem> merged;
  std::unordered_map<std::string, std::size_t> places;  // index of each problem by its key
  std::vector<std::vector<std::string>> tags;           // the distinct tags of each problem
  for (const GemmProblem& problem : problems) {
    const auto [place, is_new] = places.try_emplace(to_string(problem), merged.size());
    if (is_new) {
      merged.push_back(problem);
      tags.emplace_back();
    } else {
      merged[place->second].weight += problem.weight;
    }
    auto& of_problem = tags[place->second];
    if (!problem.tag.empty() &&
        std::find(of_problem.begin(), of_problem.end(), problem.tag) == of_problem.end())
      of_problem.push_back(problem.tag);
  }
  for (std::size_t i = 0; i < merged.size(); ++i)
    merged[i].tag = fmt::format("{}", fmt::join(tags[i], "+"));
  return merged;
}

std::optional<Sums> find_sums(std::string_view word) {
  constexpr Word<Sums> kWords[] = {
      {"promoted", Sums::kPromoted}, {"fast", Sums::kFast}, {"any", Sums::kAny}};
  return find_word(kWords, word);
}

std::vector<GemmProblem> with_sums(std::span<const GemmProblem> problems, Sums sums) {
  std::vector<GemmProblem> chosen;
  for (GemmProblem problem : problems) {
    if (!problem.has_8_bit_operands()) {
      chosen.push_back(std::move(problem));
      continue;
    }
    const bool has_both = sums == Sums::kAny && !is_of_blocks(problem.scaling);
    if (sums != Sums::kFast) {
      problem.accumulator = Accumulator::kFp32;
      chosen.push_back(problem);
    }
    if (sums == Sums::kFast || has_both) {
      problem.accumulator = Accumulator::kFast;
      chosen.push_back(std::move(problem));
    }
  }
  return merge_problems(chosen);
}

std::vector<GemmProblem> load_problems(const std::string& argument,
                                       const std::string& configs_dir) {
  if (looks_inline(argument)) return merge_problems(parse_inline(argument));
  const std::string path =
      find_yaml(argument, std::filesystem::path(configs_dir) / "shapes", "shapes");
  return merge_problems(ProblemsReader(YamlFile::read(path, kFileHolds)).read());
}

std::vector<GemmProblem> parse_problems(std::string_view text, const std::string& path) {
  return merge_problems(ProblemsReader(YamlFile::parse(text, path, kFileHolds)).read());
}

}  // namespace hgemm
