#include "space/label.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "space/shape.h"
#include "space/words.h"

namespace hgemm {
namespace {

constexpr std::string_view kProbeField = "probe1";
constexpr std::string_view kOptionalFields =
    "afirst or alast, bfirst or blast, dfirst or dlast, p64 or p128, cta2, pdl, pack, "
    "for<M>x<N>x<K>, "
    "probe1";

struct Consumers {
  Schedule schedule;
  int count;
};
std::optional<Consumers> find_consumers(std::string_view word) {
  const auto digits = std::min(word.find_first_of("0123456789"), word.size());
  const auto schedule = find_schedule(word.substr(0, digits));
  const auto count = find_small_number(word.substr(digits));
  if (!schedule || !count) return std::nullopt;
  return Consumers{*schedule, *count};
}

std::optional<bool> find_probe(std::string_view word) {
  return word == kProbeField ? std::optional(true) : std::nullopt;
}

/// Takes a label apart, field by field.
class LabelReader {
 public:
  explicit LabelReader(std::string_view label) : label_(label), rest_(label) {}

  int number(std::string_view prefix, std::string_view expected) {
    return word(find_small_number, prefix, expected);
  }
  template <class Value>
  Value word(std::optional<Value> (*find)(std::string_view), std::string_view prefix,
             std::string_view expected) {
    const std::optional<Value> value = find(next(prefix, expected));
    if (!value) fail_field(expected);
    return *value;
  }
  /// A field that may be left out.
  template <class Value>
  Value word_or(Value otherwise, std::optional<Value> (*find)(std::string_view),
                std::string_view prefix) {
    const std::string_view field = rest_.substr(0, rest_.find('.'));
    if (at_end_ || !field.starts_with(prefix)) return otherwise;
    const std::optional<Value> value = find(field.substr(prefix.size()));
    if (!value) return otherwise;
    take();
    return *value;
  }
  /// Nothing follows, and nothing was written in another way than label() does ("bm0128").
  void finish(const KernelConfig& config) const {
    if (!at_end_) {
      fail(fmt::format("{} follows the last field (after the type there may be, in this order, {})",
                       in_quotes(rest_), kOptionalFields));
    }
    const std::string written = label(config);
    if (written != label_) fail(fmt::format("this config is written {}", written));
  }

 private:
  /// The next field without its prefix.
  std::string_view next(std::string_view prefix, std::string_view expected) {
    ++position_;
    if (at_end_) fail(fmt::format("it ends before field {}, {}", position_, expected));
    take();
    if (!field_.starts_with(prefix)) fail_field(expected);
    return field_.substr(prefix.size());
  }
  void take() {
    const auto dot = rest_.find('.');
    at_end_ = dot == std::string_view::npos;
    field_ = rest_.substr(0, dot);
    rest_ = at_end_ ? std::string_view{} : rest_.substr(dot + 1);
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
  std::string text =
      fmt::format("bm{}.bn{}.bk{}.q{}.c{}x{}.{}{}.d{}.{}.{}.{}.{}", c.bm, c.bn, c.bk, c.stages,
                  c.cluster_m, c.cluster_n, schedule_word(c.schedule), c.consumers, c.mma_depth,
                  order_word(c.order, c.group), epilogue_word(c.epilogue),
                  walk_word(c.walk, c.splits), to_string(c.dtype));
  if (const std::string options = option_fields(c); !options.empty()) text += "." + options;
  if (c.probe) text += fmt::format(".{}", kProbeField);
  return text;
}

std::string kernel_name(const KernelConfig& config) {
  std::string name = "hgemm_" + label(config);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

std::string pack_kernel_name(const KernelConfig& config) { return kernel_name(config) + "_rows"; }

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
  const auto consumers = reader.word(
      find_consumers, "",
      "coop<consumers>, cols<consumers>, pp<consumers>, swap<consumers> or vec<consumers>");
  c.schedule = consumers.schedule;
  c.consumers = consumers.count;
  c.mma_depth = reader.number("d", "d<wgmma depth>");
  const auto order = reader.word(
      find_order, "", "linear, hilbert, or group, ngroup, snake or nsnake with its <tiles>");
  c.order = order.order;
  c.group = order.group;
  c.epilogue = reader.word(find_epilogue, "", "direct, tma, staged or late");
  const auto deal =
      reader.word(find_walk, "", "persist, dynamic, single, split<parts>, csplit<parts> or stream");
  c.walk = deal.walk;
  c.splits = deal.splits;
  c.dtype = reader.word(find_dtype, "", "bf16 or fp16");
  c.a_hint = reader.word_or(c.a_hint, find_hint, "a");
  c.b_hint = reader.word_or(c.b_hint, find_hint, "b");
  c.d_hint = reader.word_or(c.d_hint, find_hint, "d");
  c.promotion = reader.word_or(c.promotion, find_small_number, "p");
  c.ctas_per_sm = reader.word_or(c.ctas_per_sm, find_small_number, "cta");
  c.pdl = reader.word_or(c.pdl, find_pdl, "");
  c.pack = reader.word_or(c.pack, find_pack, "");
  const auto extents = reader.word_or(Extents{c.m, c.n, c.k}, find_extents, "for");
  c.m = extents.m;
  c.n = extents.n;
  c.k = extents.k;
  c.probe = reader.word_or(c.probe, find_probe, "");
  reader.finish(c);
  return c;
}

}  // namespace hgemm
