#include "families/legacy_labels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "base/text.h"
#include "gemm/codec.h"

namespace hgemm {
namespace {

// bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist.bf16[.option...]
constexpr std::size_t kSchedule = 5;
constexpr std::size_t kType = 10;

/// A field of an old label that still exists, with its old and its present prefix.
struct Field {
  std::size_t position;
  std::string_view was, is;
  int times = 1;  ///< factor for its number
};
constexpr Field kTiled[] = {{0, "", ""}, {1, "", ""}, {2, "", ""}, {3, "", ""}, {4, "", ""},
                            {5, "", ""}, {6, "", ""}, {7, "", ""}, {8, "", ""}, {9, "", ""}};
/// These kernels had one row of tiles, linear order and no multicast.
constexpr Field kSwapAb[] = {{0, "", ""}, {1, "", ""}, {2, "", ""}, {3, "", ""},
                             {6, "", ""}, {8, "", ""}, {9, "", ""}};
/// Their tile counted vectors and rows; each of their consumers had four warps.
constexpr Field kGemv[] = {{0, "bm", "v"}, {1, "bn", "r"},     {2, "bk", "s"},
                           {3, "", ""},    {5, "vec", "w", 4}, {9, "", ""}};

struct OldFamily {
  std::string_view schedule;  ///< prefix of the schedule's field
  std::string_view name;      ///< present name of the family; empty: tiled, whose labels have none
  std::span<const Field> fields;
};
constexpr std::array kFamilies = {OldFamily{"swap", "swap_ab", kSwapAb},
                                  OldFamily{"vec", "gemv", kGemv}, OldFamily{"", "", kTiled}};

/// Words that have changed.
struct Renamed {
  std::string_view was, is;
};
constexpr std::array kWords = {Renamed{"late", "overlap"}};
/// "for512x512x512" in the label of a kernel made for one problem; the problem has these extents
/// too.
constexpr std::string_view kMadeFor = "for";
constexpr std::string_view kFixed = "fixed";

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> fields;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    fields.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return fields;
}

bool is_old(const std::vector<std::string_view>& fields) {
  return fields.size() > kType && (fields[kType] == "bf16" || fields[kType] == "fp16");
}

/// Whether the field has the form "for512x512x512": three extents.
bool is_made_for(std::string_view field) {
  if (!field.starts_with(kMadeFor)) return false;
  std::string_view rest = field.substr(kMadeFor.size());
  for (int extents = 1;; ++extents) {
    const std::size_t end = std::min(rest.find('x'), rest.size());
    const auto extent = find_number(rest.substr(0, end));
    if (!extent || *extent < 1 || *extent > kMaxExtent || rest.front() == '0') return false;
    if (end == rest.size()) return extents == 3;
    rest.remove_prefix(end + 1);
  }
}

std::string modern_field(std::string_view field, const Field& rule) {
  for (const auto& [was, is] : kWords) {
    if (field == was) return std::string(is);
  }
  if (!field.starts_with(rule.was)) return std::string(field);
  const std::string_view value = field.substr(rule.was.size());
  if (rule.times == 1) return fmt::format("{}{}", rule.is, value);
  const auto number = find_small_number(value);
  return number ? fmt::format("{}{}", rule.is, *number * rule.times) : std::string(field);
}

}  // namespace

std::string modern_label(std::string_view text) {
  const auto fields = split(text);
  if (!is_old(fields)) return std::string(text);
  const OldFamily& family = *std::ranges::find_if(kFamilies, [&](const OldFamily& candidate) {
    return fields[kSchedule].starts_with(candidate.schedule);
  });
  std::vector<std::string> modern;
  if (!family.name.empty()) modern.emplace_back(family.name);
  for (const Field& rule : family.fields) {
    modern.push_back(modern_field(fields[rule.position], rule));
  }
  for (const std::string_view option : std::span(fields).subspan(kType + 1)) {
    modern.emplace_back(is_made_for(option) ? kFixed : option);
  }
  return fmt::format("{}", fmt::join(modern, "."));
}

std::string modern_build_name(std::string_view text) {
  const auto fields = split(text);
  if (!is_old(fields)) return std::string(text);
  std::string name = fmt::format("{} of {}", modern_label(text), fields[kType]);
  for (const std::string_view option : std::span(fields).subspan(kType + 1)) {
    if (is_made_for(option)) name += fmt::format(".{}", option.substr(kMadeFor.size()));
  }
  return name;
}

}  // namespace hgemm
