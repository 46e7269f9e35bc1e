#include "space/label.h"

#include <fmt/core.h>

#include "base/error.h"
#include "space/shape.h"
#include "space/words.h"

namespace hgemm {
namespace {

constexpr std::string_view kProbeField = "probe1";

/// Takes a label apart, field by field.
class LabelReader {
 public:
  explicit LabelReader(std::string_view label) : label_(label), rest_(label) {}

  int number(std::string_view prefix, std::string_view expected) {
    const auto number = find_number(next(prefix, expected));
    if (!number || *number > 9999) fail_field(expected);
    return static_cast<int>(*number);
  }
  template <class Value>
  Value word(std::optional<Value> (*find)(std::string_view), std::string_view prefix,
             std::string_view expected) {
    const std::optional<Value> value = find(next(prefix, expected));
    if (!value) fail_field(expected);
    return *value;
  }
  /// Takes a last field that is only there if it says something.
  bool last_flag(std::string_view word) {
    if (at_end_ || rest_ != word) return false;
    at_end_ = true;
    rest_ = {};
    return true;
  }
  /// Nothing follows, and nothing was written in another way than label() does ("bm0128").
  void finish(const KernelConfig& config) const {
    if (!at_end_) fail(fmt::format("{} follows the last field", in_quotes(rest_)));
    const std::string written = label(config);
    if (written != label_) fail(fmt::format("this config is written {}", written));
  }

 private:
  /// The next field without its prefix.
  std::string_view next(std::string_view prefix, std::string_view expected) {
    ++position_;
    if (at_end_) fail(fmt::format("it ends before field {}, {}", position_, expected));
    const auto dot = rest_.find('.');
    at_end_ = dot == std::string_view::npos;
    field_ = rest_.substr(0, dot);
    rest_ = at_end_ ? std::string_view{} : rest_.substr(dot + 1);
    if (!field_.starts_with(prefix)) fail_field(expected);
    return field_.substr(prefix.size());
  }
  [[noreturn]] void fail_field(std::string_view expected) const {
    fail(fmt::format("field {} is {}; expected {}", position_, in_quotes(field_), expected));
  }
  [[noreturn]] void fail(const std::string& problem) const {
    throw InputError(fmt::format("{} is not a config label: {}; a label looks like {}",
                                 in_quotes(label_), problem, label(KernelConfig{})));
  }

  std::string_view label_, rest_, field_;
  int position_ = 0;
  bool at_end_ = false;
};

}  // namespace

std::string label(const KernelConfig& c) {
  return fmt::format("bm{}.bn{}.bk{}.q{}.c{}x{}.coop{}.d{}.{}.{}.{}.{}{}{}", c.bm, c.bn, c.bk,
                     c.stages, c.cluster_m, c.cluster_n, c.consumers, c.mma_depth,
                     order_word(c.order, c.group), epilogue_word(c.epilogue),
                     schedule_word(c.persistent), to_string(c.dtype), c.probe ? "." : "",
                     c.probe ? kProbeField : "");
}

KernelConfig parse_label(std::string_view text) {
  LabelReader reader(text);
  KernelConfig c;
  c.bm = reader.number("bm", "bm<rows>");
  c.bn = reader.number("bn", "bn<columns>");
  c.bk = reader.number("bk", "bk<depth>");
  c.stages = reader.number("q", "q<stages>");
  const auto cluster = reader.word(find_cluster, "c", "c<M>x<N>");
  c.cluster_m = cluster.m;
  c.cluster_n = cluster.n;
  c.consumers = reader.number("coop", "coop<consumers>");
  c.mma_depth = reader.number("d", "d<wgmma depth>");
  const auto order = reader.word(find_order, "", "linear, group<rows> or hilbert");
  c.order = order.order;
  c.group = order.group;
  c.epilogue = reader.word(find_epilogue, "", "direct or tma");
  c.persistent = reader.word(find_schedule, "", "persist or single");
  c.dtype = reader.word(find_dtype, "", "bf16 or fp16");
  c.probe = reader.last_flag(kProbeField);
  reader.finish(c);
  return c;
}

}  // namespace hgemm
