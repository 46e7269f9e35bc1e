// The axis table: one row for each axis of a family's config. Labels and their parser, space files,
// enumeration, the kernel's definition, the distance between configs, plan's table and the
// reference page are generated from it. A test checks that every member of a config has a row.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/text.h"

namespace hgemm {

/// The texts about an axis that users see.
struct AxisText {
  std::string_view name = {};    ///< name in space files and tables: "bm"
  std::string_view field = {};   ///< prefix of its field in a label; "" if its words need none
  std::string_view form = {};    ///< pattern of that field, for messages: "bm<rows>"
  std::string_view values = {};  ///< the possible values: "64 to 384 by 64"
  /// The values in the whole space, as a space file lists them: "8:256:8, 320", "tma, staged". A
  /// search begins with the first one (search/proposer.h). "": the axis is not in spaces.
  std::string_view domain = {};
  /// Value if a space file leaves the axis out; "": it is required.
  std::string_view otherwise = {};
  std::string_view help = {};
  /// When its field is part of a label.
  enum class InLabel : std::uint8_t {
    kAlways,
    kUnlessDefault,  ///< left out if it has the config's default value
    kFlag,           ///< the field alone ("pdl"), present if the value is on
  };
  InLabel in_label = InLabel::kAlways;
  bool number = false;    ///< values are numbers: space files may give ranges
  bool in_spaces = true;  ///< false: part of labels, but never searched (builds with cycle stamps)
  /// The axis only decides the order of tiles, hints to L2, or what the compiler knows. Configs
  /// that differ only in such axes are kin (search/strategy.h).
  bool minor = false;
  /// How the whole space is searched along the axis (search/proposer.h).
  enum class Vary : std::uint8_t {
    kTile,    ///< with all other axes of this kind: what a CTA multiplies, and how
    kWork,    ///< with each promising tile: which CTAs do which work
    kDetail,  ///< one at a time, around promising points
  };
  Vary vary = Vary::kWork;
};

/// A member of a config, as C++ source names it.
struct AxisMember {
  std::string_view name;  ///< "stages"
  std::string_view type;  ///< for an enumeration: "StorePath"; "" for numbers and flags
};

/// One axis of a config: its texts, and functions that handle its values.
template <class Config>
struct Axis {
  AxisText text;
  /// The members of the config that the axis sets: one or two.
  std::array<AxisMember, 2> members;
  std::size_t member_count;
  std::array<std::int64_t, 2> (*raw)(const Config&);  ///< values of the members, as numbers
  std::string (*print)(const Config&);                ///< the value, without the label's field
  bool (*parse)(Config&, std::string_view word);      ///< false if the axis has no such value
  /// Copies the value of this axis. Axes that only qualify another value of it take their default.
  void (*copy)(Config& to, const Config& from);
  /// Distance of two values; 0 if they are equal.
  double (*distance)(const Config&, const Config&);

  /// Orders the values in tables.
  std::int64_t rank(const Config& c) const {
    const auto [first, second] = raw(c);
    return first * 10'000 + second;
  }
};

// ---- Rows of common kinds ----

template <class Member>
struct MemberOf;
template <class Config, class Value>
struct MemberOf<Value Config::*> {
  using ConfigType = Config;
  using ValueType = Value;
};
template <auto member>
using ConfigOf = typename MemberOf<decltype(member)>::ConfigType;
template <auto member>
using ValueOf = typename MemberOf<decltype(member)>::ValueType;

/// A weight in thousandths, known at compile time.
template <int thousandths>
inline constexpr double kWeight = thousandths / 1000.0;

/// Distance of two sizes by their ratio: 1 for a factor of two, at most 2 (from a factor of four).
inline double ratio_distance(double a, double b) {
  return std::min(2.0, std::abs(std::log2(a / b)));
}

template <auto member, int weight>
double differs(const ConfigOf<member>& a, const ConfigOf<member>& b) {
  return a.*member == b.*member ? 0.0 : kWeight<weight>;
}

template <auto member>
std::array<std::int64_t, 2> raw_member(const ConfigOf<member>& c) {
  return {static_cast<std::int64_t>(c.*member), 0};
}
template <auto member>
void copy_member(ConfigOf<member>& to, const ConfigOf<member>& from) {
  to.*member = from.*member;
}

/// A number. `weight`: of its distance, in thousandths. `by_ratio`: distance by ratio; otherwise
/// any difference counts 1.
template <auto member, int weight, bool by_ratio>
constexpr Axis<ConfigOf<member>> number_axis(AxisText text, AxisMember named) {
  using Config = ConfigOf<member>;
  text.number = true;
  return {.text = text,
          .members = {named},
          .member_count = 1,
          .raw = raw_member<member>,
          .print = [](const Config& c) { return fmt::to_string(c.*member); },
          .parse =
              [](Config& c, std::string_view word) {
                const auto number = find_small_number(word);
                if (number) c.*member = *number;
                return number.has_value();
              },
          .copy = copy_member<member>,
          .distance =
              [](const Config& a, const Config& b) {
                if constexpr (!by_ratio) return differs<member, weight>(a, b);
                return kWeight<weight> * ratio_distance(a.*member, b.*member);
              }};
}

/// One of `words`, a table of Word<ValueOf<member>>.
template <auto member, const auto& words, int weight>
constexpr Axis<ConfigOf<member>> word_axis(AxisText text, AxisMember named) {
  using Config = ConfigOf<member>;
  return {.text = text,
          .members = {named},
          .member_count = 1,
          .raw = raw_member<member>,
          .print = [](const Config& c) { return std::string(word_of(words, c.*member)); },
          .parse =
              [](Config& c, std::string_view word) {
                const auto value = find_word(words, word);
                if (value) c.*member = *value;
                return value.has_value();
              },
          .copy = copy_member<member>,
          .distance = differs<member, weight>};
}

/// Off or on: "0" or "1" in space files.
template <auto member, int weight>
constexpr Axis<ConfigOf<member>> flag_axis(AxisText text, AxisMember named) {
  using Config = ConfigOf<member>;
  text.in_label = AxisText::InLabel::kFlag;
  text.number = true;
  if (text.in_spaces && text.domain.empty()) text.domain = "0, 1";
  return {.text = text,
          .members = {named},
          .member_count = 1,
          .raw = raw_member<member>,
          .print = [](const Config& c) { return std::string(c.*member ? "1" : "0"); },
          .parse =
              [](Config& c, std::string_view word) {
                if (word != "0" && word != "1") return false;
                c.*member = word == "1";
                return true;
              },
          .copy = copy_member<member>,
          .distance = differs<member, weight>};
}

/// A word, with a number appended for some values: "group8", "csplit4", "coop2". `words` is a table
/// of Word<ValueOf<member>>; `is_numbered` tells whether a value has a number; values without one
/// have the number `none`.
template <auto member, auto number, const auto& words, auto is_numbered, int none>
struct NumberedWord {
  using Config = ConfigOf<member>;
  static std::string print(const Config& c) {
    const std::string_view word = word_of(words, c.*member);
    return is_numbered(c.*member) ? fmt::format("{}{}", word, c.*number) : std::string(word);
  }
  static bool parse(Config& c, std::string_view text) {
    const auto digits = std::min(text.find_first_of("0123456789"), text.size());
    const auto value = find_word(words, text.substr(0, digits));
    if (!value) return false;
    const auto given = find_small_number(text.substr(digits));
    if (is_numbered(*value) ? !given : digits != text.size()) return false;
    c.*member = *value;
    c.*number = given.value_or(none);
    return true;
  }
  static std::array<std::int64_t, 2> raw(const Config& c) {
    return {static_cast<std::int64_t>(c.*member), static_cast<std::int64_t>(c.*number)};
  }
  static void copy(Config& to, const Config& from) {
    to.*member = from.*member;
    to.*number = from.*number;
  }
};
template <auto member, auto number, const auto& words, auto is_numbered, int none, int word_weight,
          int number_weight>
constexpr Axis<ConfigOf<member>> numbered_axis(AxisText text, AxisMember named,
                                               AxisMember number_named) {
  using Kind = NumberedWord<member, number, words, is_numbered, none>;
  using Config = ConfigOf<member>;
  return {.text = text,
          .members = {named, number_named},
          .member_count = 2,
          .raw = Kind::raw,
          .print = Kind::print,
          .parse = Kind::parse,
          .copy = Kind::copy,
          .distance = [](const Config& a, const Config& b) {
            return differs<member, word_weight>(a, b) + differs<number, number_weight>(a, b);
          }};
}

/// The row with another way to search it, and with another domain unless that is empty.
template <class Config>
constexpr Axis<Config> searched(Axis<Config> axis, AxisText::Vary vary,
                                std::string_view domain = {}) {
  axis.text.vary = vary;
  if (!domain.empty()) axis.text.domain = domain;
  return axis;
}

}  // namespace hgemm
