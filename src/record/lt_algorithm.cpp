#include "record/lt_algorithm.h"

#include <fmt/format.h>

#include <charconv>

namespace hgemm {
namespace {

/// Takes the parts of a text from its front. After the first part that is missing, it takes none.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  void skip(std::string_view word) {
    ok_ = ok_ && rest_.starts_with(word);
    if (ok_) rest_.remove_prefix(word.size());
  }
  template <class Number>
  void read(std::string_view name, Number& value) {
    skip(name);
    if (!ok_) return;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    ok_ = error == std::errc{};
    if (ok_) rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  }
  bool is_done() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace

std::string to_string(const LtAlgorithm& a) {
  return fmt::format(
      "algo {}, tile {}, stages {}, cluster {}, split-K {}, reduction {}, swizzle {}, custom {}, "
      "inner {}, workspace {} B",
      a.id, a.tile, a.stages, a.cluster, a.split_k, a.reduction, a.swizzle, a.custom, a.inner,
      a.workspace_bytes);
}

std::optional<LtAlgorithm> parse_lt_algorithm(std::string_view text) {
  LtAlgorithm a;
  Reader reader(text);
  reader.read("algo ", a.id);
  reader.read(", tile ", a.tile);
  reader.read(", stages ", a.stages);
  reader.read(", cluster ", a.cluster);
  reader.read(", split-K ", a.split_k);
  reader.read(", reduction ", a.reduction);
  reader.read(", swizzle ", a.swizzle);
  reader.read(", custom ", a.custom);
  reader.read(", inner ", a.inner);
  reader.read(", workspace ", a.workspace_bytes);
  reader.skip(" B");
  // Text with another spelling of a number, as "007", is not what a worker wrote.
  if (!reader.is_done() || to_string(a) != text) return std::nullopt;
  return a;
}

}  // namespace hgemm
