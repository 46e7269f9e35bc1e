#include "studies/micro/accumulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/error.h"

namespace hgemm {
namespace {

using micro::AccumulatorCase;
namespace metric = accumulator_metric;

/// The exponent of the largest addend.
constexpr int kLarge = 16;

/// A floating-point type: exponent bias, bits of the fraction, bytes.
struct Format {
  int bias, fraction_bits, bytes;
};
Format format_of(MmaTypes types) {
  switch (types) {
    case MmaTypes::kF32Bf16:
      return {127, 7, 2};
    case MmaTypes::kF32F16:
      return {15, 10, 2};
    case MmaTypes::kF32E4m3:
      return {7, 3, 1};
    case MmaTypes::kF32E5m2:
      return {15, 2, 1};
    case MmaTypes::kF16F16:
    case MmaTypes::kF16E4m3:
      break;
  }
  throw Error("an accumulator of a type whose sums are not in fp32");
}

/// An addend: sign * 2^exponent, or 1.5 times as much.
struct Addend {
  int sign = 1;
  int exponent = 0;
  bool and_half = false;

  float value() const {
    return static_cast<float>(sign) * std::ldexp(and_half ? 1.5F : 1.0F, exponent);
  }
};
constexpr Addend kPlus{1, kLarge};
constexpr Addend kMinus{-1, kLarge};
/// 3/4 of the last of `bits` bits below the leading one of the largest addend, that bit included.
Addend rest_of(int bits, int sign) { return {sign, kLarge - bits, true}; }

/// Builds cases for the operands of a type.
class CaseMaker {
 public:
  explicit CaseMaker(MmaTypes types) : format_(format_of(types)), k_(mma_k(types)) {}

  int k() const { return k_; }
  /// Sets one product: its exponent is divided between A and B.
  void set(AccumulatorCase& one, int position, const Addend& product) const {
    const int of_b = product.exponent / 2;
    store(
        one.a, position,
        {.sign = product.sign, .exponent = product.exponent - of_b, .and_half = product.and_half});
    store(one.b, position, {.sign = 1, .exponent = of_b, .and_half = false});
  }

 private:
  void store(unsigned char (&row)[32], int position, const Addend& value) const {
    const int exponent = value.exponent + format_.bias;
    if (exponent < 1) throw Error("an addend too small for its type");
    const int half = value.and_half ? 1 << (format_.fraction_bits - 1) : 0;
    const int sign = value.sign < 0 ? 1 << (8 * format_.bytes - 1) : 0;
    const int bits = sign | exponent << format_.fraction_bits | half;
    for (int byte = 0; byte < format_.bytes; ++byte) {
      row[position * format_.bytes + byte] = static_cast<unsigned char>(bits >> (8 * byte));
    }
  }

  Format format_;
  int k_;
};

/// The places of the three addends: products, or C.
enum class Small : std::uint8_t { kBesideProducts, kBesideC, kIsC };

class Finder {
 public:
  Finder(MmaTypes types, const AddCases& add) : make_(types), add_(add) {}

  AccumulatorFindings find() {
    const int beside_products = find_bits(metric::kBesideProducts, Small::kBesideProducts);
    find_bits(metric::kBesideC, Small::kBesideC);
    const int of_c = find_bits(metric::kOfC, Small::kIsC);
    find_bits_of_sum();
    find_rest(metric::kRest, Small::kBesideProducts, beside_products, 1);
    find_rest(metric::kNegativeRest, Small::kBesideProducts, beside_products, -1);
    find_rest(metric::kRestOfC, Small::kIsC, of_c, 1);
    find_rest(metric::kNegativeRestOfC, Small::kIsC, of_c, -1);
    find_rests(beside_products);
    return std::move(findings_);
  }

 private:
  /// The sum of 2^16, -2^16 and a small addend; `position` is that of the addend which moves.
  AccumulatorCase with_small(Small place, const Addend& small, int position) const {
    AccumulatorCase one{};
    switch (place) {
      case Small::kBesideProducts:
        make_.set(one, 0, kPlus);
        make_.set(one, 1, kMinus);
        make_.set(one, position, small);
        break;
      case Small::kBesideC:
        one.c = kPlus.value();
        make_.set(one, 0, kMinus);
        make_.set(one, position, small);
        break;
      case Small::kIsC:
        one.c = small.value();
        make_.set(one, 0, kPlus);
        make_.set(one, position, kMinus);
        break;
    }
    return one;
  }

  /// How many of the sums for n = 0, 1, ... have the small addend of 2^(16-n) exactly as it is: one
  /// that is rounded up to a kept bit has not.
  static int kept_of(const std::vector<float>& sums, float without) {
    int kept = 0;
    for (const float sum : sums) {
      if (sum - without != std::ldexp(1.0F, kLarge - kept)) break;
      ++kept;
    }
    return kept;
  }

  /// Bits are counted from the largest addend's leading one on, as far as all are kept.
  int find_bits(const char* name, Small place) {
    const int first = place == Small::kBesideProducts ? 2 : 1;
    int fewest = kMostAccumulatorBits, most = 0;
    for (int position = first; position < make_.k(); ++position) {
      std::vector<AccumulatorCase> cases;
      for (int n = 0; n < kMostAccumulatorBits; ++n) {
        cases.push_back(with_small(place, {1, kLarge - n}, position));
      }
      const std::vector<float> sums = add_(cases);
      const int kept = kept_of(sums, 0);
      if (sums.front() != kPlus.value() && findings_.wrong.empty()) {
        findings_.wrong =
            fmt::format("{}: {:g} - {:g} + {:g} gave {:g} (the small addend at {})", name,
                        kPlus.value(), kPlus.value(), kPlus.value(), sums.front(), position);
      }
      fewest = std::min(fewest, kept);
      most = std::max(most, kept);
    }
    add_figure(name, "bits", fewest, fewest, most, make_.k() - first);
    return fewest;
  }

  /// All products but one are 2^16, so that the leading bit of the sum is above theirs. The last
  /// one is shown as far as an fp32 number has room for it.
  void find_bits_of_sum() {
    std::vector<AccumulatorCase> cases;
    for (int n = 0; n < kMostAccumulatorBits; ++n) {
      AccumulatorCase one{};
      for (int i = 0; i + 1 < make_.k(); ++i) make_.set(one, i, kPlus);
      make_.set(one, make_.k() - 1, {1, kLarge - n});
      cases.push_back(one);
    }
    const std::vector<float> sums = add_(cases);
    const float without = static_cast<float>(make_.k() - 1) * kPlus.value();
    const int kept = kept_of(sums, without);
    const int above = static_cast<int>(std::floor(std::log2(make_.k() - 1)));
    add_figure(metric::kOfSum, "bits", kept + above, kept + above, kept + above, 1);
  }

  void find_rest(const char* name, Small place, int bits, int sign) {
    if (bits < 1 || bits >= kMostAccumulatorBits - 1) return;  // no rest that the types can hold
    const AccumulatorCase one = with_small(place, rest_of(bits, sign), 2);
    add_rest(name, add_({&one, 1}).at(0), bits);
  }

  void find_rests(int bits) {
    if (bits < 1 || bits >= kMostAccumulatorBits - 1) return;
    AccumulatorCase one = with_small(Small::kBesideProducts, rest_of(bits, 1), 2);
    for (int i = 3; i < make_.k(); ++i) make_.set(one, i, rest_of(bits, 1));
    add_rest(metric::kRests, add_({&one, 1}).at(0), bits);
  }

  void add_rest(const char* name, float sum, int bits) {
    const double in_last_bits = std::ldexp(static_cast<double>(sum), bits - 1 - kLarge);
    add_figure(name, "last bits", in_last_bits, in_last_bits, in_last_bits, 1);
  }

  void add_figure(const char* name, const char* unit, double value, double low, double high,
                  std::int64_t samples) {
    findings_.figures.push_back({.point = "",
                                 .metric = name,
                                 .unit = unit,
                                 .value = value,
                                 .low = low,
                                 .high = high,
                                 .samples = samples});
  }

  CaseMaker make_;
  const AddCases& add_;
  AccumulatorFindings findings_;
};

}  // namespace

AccumulatorFindings find_kept_bits(MmaTypes types, const AddCases& add) {
  return Finder(types, add).find();
}

std::string rounding_text(double rest, double negative_rest) {
  if (rest == 0 && negative_rest == 0) return "cut off";
  if (rest == 1 && negative_rest == -1) return "rounded";
  if (rest == 0 && negative_rest == -1) return "rounded down";
  if (rest == 1 && negative_rest == 0) return "rounded up";
  return fmt::format("{:g} and {:g}", rest, negative_rest);
}

}  // namespace hgemm
