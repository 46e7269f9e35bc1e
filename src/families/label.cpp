// Labels: converts a config to text, and back.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "families/legacy_labels.h"
#include "families/visit.h"

namespace hgemm {
namespace {

using InLabel = AxisText::InLabel;

template <class Config>
std::string label_of(const Config& c) {
  const std::string_view name = Family<Config>::kName;
  // Most kernels are tiled, so their labels have no family name.
  std::string text = std::is_same_v<Config, TiledConfig> ? std::string() : std::string(name);
  for (const Axis<Config>& axis : Family<Config>::axes()) {
    const std::string value = axis.print(c);
    if (axis.text.in_label == InLabel::kFlag && value == "0") continue;
    if (axis.text.in_label == InLabel::kUnlessDefault && value == axis.print(Config{})) continue;
    if (!text.empty()) text += '.';
    text += axis.text.field;
    if (axis.text.in_label != InLabel::kFlag) text += value;
  }
  return text;
}

/// Reads a label of one family, field by field.
template <class Config>
class LabelReader {
 public:
  /// `rest`: the label after the family's name.
  LabelReader(std::string_view label, std::string_view rest) : label_(label), rest_(rest) {}

  Config read() {
    Config config;
    for (const Axis<Config>& axis : Family<Config>::axes()) {
      if (axis.text.in_label == InLabel::kAlways) {
        ++position_;
        if (rest_.empty()) {
          fail(fmt::format("it ends before field {}, {}", position_, axis.text.form));
        }
        if (!read_field(axis, config)) {
          fail(fmt::format("field {} is {}; expected {}", position_, in_quotes(field()),
                           axis.text.form));
        }
      } else {
        read_field(axis, config);
      }
    }
    if (!rest_.empty()) {
      fail(fmt::format("{} follows the last field (there may be, in this order, {})",
                       in_quotes(rest_), optional_fields()));
    }
    const std::string written = label_of(config);
    if (written != label_) fail(fmt::format("this config is written {}", written));
    return config;
  }

 private:
  std::string_view field() const { return rest_.substr(0, rest_.find('.')); }

  /// Consumes the next field if it belongs to the axis.
  bool read_field(const Axis<Config>& axis, Config& config) {
    const std::string_view text = field();
    if (rest_.empty() || !text.starts_with(axis.text.field)) return false;
    const bool is_flag = axis.text.in_label == InLabel::kFlag;
    if (is_flag && text != axis.text.field) return false;
    if (!axis.parse(config, is_flag ? "1" : text.substr(axis.text.field.size()))) return false;
    rest_.remove_prefix(std::min(text.size() + 1, rest_.size()));
    return true;
  }

  static std::string optional_fields() {
    std::vector<std::string_view> forms;
    for (const Axis<Config>& axis : Family<Config>::axes()) {
      if (axis.text.in_label != InLabel::kAlways) forms.push_back(axis.text.form);
    }
    return fmt::format("{}", fmt::join(forms, ", "));
  }
  [[noreturn]] void fail(const std::string& problem) const {
    throw InputError(fmt::format("{} is not a config label: {}; a label looks like {}",
                                 in_quotes(label_), problem, label_of(Config{})));
  }

  std::string_view label_, rest_;
  int position_ = 0;
};

std::string identifier(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');  // a layout's letters
  }
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')); }, '_');
  return text;
}

/// The letters of GemmProblem's layout, which this layer does not see.
std::string layout_text(const GemmKind& kind) {
  return fmt::format("{}{}", kind.a_major == Major::kK ? 'T' : 'N',
                     kind.b_major == Major::kK ? 'N' : 'T');
}

/// "bf16", "bf16.dfp32", "bf16.layoutNT", "bf16.c.bias-gelu", "bf16.512x512x512"
std::string kind_text(const GemmKind& kind) {
  std::string text(to_string(kind.input));
  if (kind.b_is_other) text += fmt::format(".b{}", to_string(input_b(kind)));
  if (kind.output != default_output(kind.input)) {
    text += fmt::format(".d{}", to_string(kind.output));
  }
  if (kind.fast_sums) text += ".accfast";
  if (kind.scaling != Scaling::kNone) {
    text += fmt::format(".scaling-{}", to_string(kind.scaling));
  }
  if (const std::string layout = layout_text(kind); layout != "TN") text += ".layout" + layout;
  if (kind.adds_c) text += ".c";
  if (kind.epilogue != Epilogue{}) text += "." + to_string(kind.epilogue);
  if (kind.batched) text += kind.by_pointers ? ".pointers" : ".batch";
  if (kind.m != 0) text += fmt::format(".{}x{}x{}", kind.m, kind.n, kind.k);
  return text;
}

}  // namespace

std::string label(const KernelConfig& config) {
  return std::visit([](const auto& c) { return label_of(c); }, config);
}

KernelConfig parse_label(std::string_view text) {
  const std::string modern = modern_label(text);
  const std::string_view name = std::string_view(modern).substr(0, modern.find('.'));
  KernelConfig config;
  const bool named = visit_family(name, [&]<class Config>(const Config&) {
    const auto rest = std::string_view(modern).substr(std::min(name.size() + 1, modern.size()));
    config = LabelReader<Config>(modern, rest).read();
  });
  if (!named) config = LabelReader<TiledConfig>(modern, modern).read();
  return config;
}

std::string build_name(const Kernel& kernel) {
  return fmt::format("{} of {}", label(config_of(kernel)), kind_text(kind_of(kernel)));
}

std::string kernel_name(const Kernel& kernel) {
  return identifier(
      fmt::format("hgemm_{}_{}", label(config_of(kernel)), kind_text(kind_of(kernel))));
}
std::string pack_kernel_name(const Kernel& kernel) { return kernel_name(kernel) + "_rows"; }

}  // namespace hgemm
