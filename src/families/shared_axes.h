// Rows of the axis tables that several families share.
#pragma once

#include <optional>

#include "families/axis.h"
#include "kernels/common/types.h"

namespace hgemm {

/// In space files: the largest number of stages that fits in shared memory, given all other axes.
inline constexpr int kMaxStagesThatFit = 0;

template <auto member>
constexpr Axis<ConfigOf<member>> stages_axis() {
  using C = ConfigOf<member>;
  auto axis = number_axis<member, 500, true>({.name = "q",
                                              .field = "q",
                                              .form = "q<stages>",
                                              .values = "2 to 16; max: as many as fit",
                                              .domain = "2:16:1",
                                              .otherwise = "max",
                                              .help = "pipeline stages in shared memory (QSIZE)",
                                              .vary = AxisText::Vary::kDetail},
                                             {"stages", ""});
  axis.parse = [](C& c, std::string_view word) {
    const auto number = word == "max" ? std::optional(kMaxStagesThatFit) : find_small_number(word);
    if (number) c.*member = *number;
    return number.has_value();
  };
  return axis;
}

template <auto member>
constexpr Axis<ConfigOf<member>> mma_depth_axis() {
  return number_axis<member, 300, false>({.name = "d",
                                          .field = "d",
                                          .form = "d<wgmma depth>",
                                          .values = "0, 1",
                                          .domain = "1, 0",
                                          .otherwise = "1",
                                          .help = "wgmma groups left in flight",
                                          .vary = AxisText::Vary::kDetail},
                                         {"mma_depth", ""});
}

template <auto member>
constexpr Axis<ConfigOf<member>> promote_axis() {
  return number_axis<member, 400, false>(
      {.name = "promote",
       .field = "acc",
       .form = "acc<elements of K>",
       .values = "0, 128, 256, 512",
       .domain = "128, 256, 512, 0",
       .otherwise = "0",
       .help = "8-bit operands: elements of K after which sums of the tensor cores, which have "
               "about 14 bits, are added to fp32 sums; never if the problem's sums are fast",
       .in_label = AxisText::InLabel::kUnlessDefault},
      {"promote", ""});
}

inline constexpr Word<CacheHint> kHints[] = {
    {"none", CacheHint::kNone}, {"first", CacheHint::kEvictFirst}, {"last", CacheHint::kEvictLast}};
/// `letter` is the operand's name: the member is <letter>_hint.
template <auto member>
constexpr Axis<ConfigOf<member>> hint_axis(std::string_view name, std::string_view letter,
                                           std::string_view form, std::string_view help) {
  return word_axis<member, kHints, 150>({.name = name,
                                         .field = letter,
                                         .form = form,
                                         .values = "none, first, last",
                                         .domain = "none, first, last",
                                         .otherwise = "none",
                                         .help = help,
                                         .in_label = AxisText::InLabel::kUnlessDefault,
                                         .minor = true,
                                         .vary = AxisText::Vary::kDetail},
                                        {name, "CacheHint"});
}

template <auto member>
constexpr Axis<ConfigOf<member>> promotion_axis() {
  return number_axis<member, 300, false>(
      {.name = "promotion",
       .field = "p",
       .form = "p64 or p128",
       .values = "256, 128, 64",
       .domain = "256, 128, 64",
       .otherwise = "256",
       .help = "bytes that L2 fetches at least where a copy of A or B misses",
       .in_label = AxisText::InLabel::kUnlessDefault,
       .vary = AxisText::Vary::kDetail},
      {"promotion", ""});
}

template <auto member>
constexpr Axis<ConfigOf<member>> ctas_axis() {
  return number_axis<member, 600, false>({.name = "ctas",
                                          .field = "cta",
                                          .form = "cta2",
                                          .values = "1, 2",
                                          .domain = "1, 2",
                                          .otherwise = "1",
                                          .help = "CTAs on an SM",
                                          .in_label = AxisText::InLabel::kUnlessDefault},
                                         {"ctas_per_sm", ""});
}

/// A flag whose label field, member and name are the same word.
template <auto member, int weight>
constexpr Axis<ConfigOf<member>> named_flag_axis(std::string_view name, std::string_view help,
                                                 bool minor = false) {
  return flag_axis<member, weight>({.name = name,
                                    .field = name,
                                    .form = name,
                                    .values = "0, 1",
                                    .otherwise = "0",
                                    .help = help,
                                    .minor = minor},
                                   {name, ""});
}

inline constexpr std::string_view kWholeTile = "single";
inline constexpr std::string_view kPartsOfTile = "csplit";
/// One CTA for each tile, or for each of several parts of it along K: "single", "csplit4".
template <auto member>
constexpr Axis<ConfigOf<member>> cluster_split_axis() {
  using C = ConfigOf<member>;
  return {
      .text = {.name = "scheduler",
               .form = "single or csplit<parts>",
               .values = "single, csplit2 to csplit8",
               .domain = "single, csplit2, csplit3, csplit4, csplit5, csplit6, csplit7, csplit8",
               .otherwise = "single",
               .help = "a CTA for each tile, or for each of so many parts of it along K: those of "
                       "a tile are a cluster, and add up in shared memory"},
      .members = {AxisMember{"splits", ""}},
      .member_count = 1,
      .raw = raw_member<member>,
      .print =
          [](const C& c) {
            return c.*member == 1 ? std::string(kWholeTile)
                                  : fmt::format("{}{}", kPartsOfTile, c.*member);
          },
      .parse =
          [](C& c, std::string_view word) {
            if (word == kWholeTile) {
              c.*member = 1;
              return true;
            }
            if (!word.starts_with(kPartsOfTile)) return false;
            const auto parts = find_small_number(word.substr(kPartsOfTile.size()));
            if (!parts || *parts == 1) return false;
            c.*member = *parts;
            return true;
          },
      .copy = copy_member<member>,
      .distance =
          [](const C& a, const C& b) {
            const bool same_kind = (a.*member == 1) == (b.*member == 1);
            return (same_kind ? 0.0 : 0.8) + differs<member, 500>(a, b);
          }};
}

template <auto member>
constexpr Axis<ConfigOf<member>> pack_axis() {
  return named_flag_axis<member, 500>(
      "pack",
      "A and B whose rows do not begin at multiples of 16 bytes, where the copy engine cannot "
      "fetch "
      "them, are first copied to where they do, in a launch of its own that counts");
}

template <auto member>
constexpr Axis<ConfigOf<member>> fixed_axis() {
  return searched(
      named_flag_axis<member, 150>(
          "fixed", "a kernel for each problem, whose extents are constants in it", true),
      AxisText::Vary::kDetail);
}

/// Without PDL there is nothing for these axes to qualify. Otherwise a search that changes one axis
/// at a time could not leave PDL.
template <class Config>
constexpr void clear_pdl_details(Config& c) {
  if constexpr (requires { c.late; }) c.late = false;
  if constexpr (requires { c.hold; }) c.hold = false;
}

template <auto member>
constexpr Axis<ConfigOf<member>> pdl_axis(std::string_view help) {
  using C = ConfigOf<member>;
  auto axis = searched(named_flag_axis<member, 300>("pdl", help), AxisText::Vary::kDetail, "1, 0");
  axis.copy = [](C& to, const C& from) {
    to.*member = from.*member;
    if (!(to.*member)) clear_pdl_details(to);
  };
  return axis;
}

template <auto member>
constexpr Axis<ConfigOf<member>> hold_axis() {
  return searched(
      named_flag_axis<member, 150>(
          "hold",
          "with pdl: holds the next kernel back until this one has issued its last copies; "
          "otherwise it may start as soon as this one has begun"),
      AxisText::Vary::kDetail, "1, 0");
}

}  // namespace hgemm
