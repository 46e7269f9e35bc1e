// What is found out about an adder: checked with adders that are known.
#include "studies/micro/accumulator.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace hgemm {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
namespace metric = accumulator_metric;

/// The number that some bits stand for.
double decoded(int bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double magnitude =
      std::ldexp(static_cast<double>((exponent > 0 ? 1 << fraction_bits : 0) + fraction),
                 std::max(exponent, 1) - bias - fraction_bits);
  return bits >> (exponent_bits + fraction_bits) ? -magnitude : magnitude;
}

double element(const unsigned char (&row)[32], int i, MmaTypes types) {
  const auto word = [&] { return row[2 * i] | row[2 * i + 1] << 8; };
  switch (types) {
    case MmaTypes::kF32Bf16:
      return decoded(word(), 8, 7);
    case MmaTypes::kF32F16:
      return decoded(word(), 5, 10);
    case MmaTypes::kF32E4m3:
      return decoded(row[i], 4, 3);
    default:
      return decoded(row[i], 5, 2);
  }
}

/// An adder that aligns all addends to the largest one and keeps some bits of each.
struct Adder {
  MmaTypes types = MmaTypes::kF32E4m3;
  int bits = 14;
  double (*round)(double) = std::trunc;
  int bits_of_result = 24;
  int group = 32;  ///< so many products are added at once, one group after another

  float add(const micro::AccumulatorCase& one) const {
    double sum = static_cast<double>(one.c);
    for (int first = 0; first < mma_k(types); first += group) {
      std::vector<double> addends{sum};
      for (int i = first; i < std::min(first + group, mma_k(types)); ++i) {
        addends.push_back(element(one.a, i, types) * element(one.b, i, types));
      }
      sum = aligned_sum(addends);
    }
    return static_cast<float>(kept(sum, bits_of_result, std::trunc));
  }
  AccumulatorFindings find() const {
    return find_kept_bits(types, [this](std::span<const micro::AccumulatorCase> cases) {
      std::vector<float> sums;
      for (const micro::AccumulatorCase& one : cases) sums.push_back(add(one));
      return sums;
    });
  }

 private:
  static double kept(double value, int bits, double (*round)(double)) {
    if (value == 0) return 0;
    const int last = std::ilogb(value) - (bits - 1);
    return std::ldexp(round(std::ldexp(value, -last)), last);
  }
  double aligned_sum(const std::vector<double>& addends) const {
    double largest = 0;
    for (const double addend : addends) largest = std::max(largest, std::abs(addend));
    if (largest == 0) return 0;
    const int last = std::ilogb(largest) - (bits - 1);
    double sum = 0;
    for (const double addend : addends) sum += round(std::ldexp(addend, -last));
    return std::ldexp(sum, last);
  }
};

std::map<std::string, Figure> by_metric(const AccumulatorFindings& found) {
  std::map<std::string, Figure> figures;
  for (const Figure& figure : found.figures) figures[figure.metric] = figure;
  return figures;
}

// As 8-bit operands on an H100, if others who looked are right: 14 bits, the rest cut off.
TEST(KeptBits, OfAnAdderThatCutsOff) {
  for (const MmaTypes types : {MmaTypes::kF32E4m3, MmaTypes::kF32E5m2}) {
    const AccumulatorFindings found = Adder{.types = types}.find();
    EXPECT_THAT(found.wrong, IsEmpty());
    auto figures = by_metric(found);
    for (const char* name : {metric::kBesideProducts, metric::kBesideC, metric::kOfC}) {
      EXPECT_EQ(figures.at(name).value, 14) << name;
      EXPECT_EQ(figures.at(name).high, 14) << name;
    }
    EXPECT_EQ(figures.at(metric::kOfSum).value, 18) << "a carry of 4 bits is kept";
    EXPECT_EQ(
        rounding_text(figures.at(metric::kRest).value, figures.at(metric::kNegativeRest).value),
        "cut off");
    EXPECT_EQ(rounding_text(figures.at(metric::kRestOfC).value,
                            figures.at(metric::kNegativeRestOfC).value),
              "cut off");
    EXPECT_EQ(figures.at(metric::kRests).value, 0) << "each alone";
  }
}

TEST(KeptBits, OfSixteenBitOperands) {
  for (const MmaTypes types : {MmaTypes::kF32Bf16, MmaTypes::kF32F16}) {
    auto figures = by_metric(Adder{.types = types, .bits = 26}.find());
    EXPECT_EQ(figures.at(metric::kBesideProducts).value, 26) << "more than fp32 has";
    EXPECT_EQ(figures.at(metric::kBesideProducts).samples, 14) << "positions in K";
    EXPECT_EQ(figures.at(metric::kOfSum).value, 24) << "all that fp32 has";
  }
}

TEST(KeptBits, OfAResultThatIsCutOffAgain) {
  auto figures = by_metric(Adder{.bits_of_result = 14}.find());
  EXPECT_EQ(figures.at(metric::kBesideProducts).value, 14);
  EXPECT_EQ(figures.at(metric::kOfSum).value, 14);
}

TEST(KeptBits, TellHowTheRestIsRounded) {
  const auto text = [](double (*round)(double)) {
    auto figures = by_metric(Adder{.round = round}.find());
    return rounding_text(figures.at(metric::kRest).value, figures.at(metric::kNegativeRest).value);
  };
  EXPECT_EQ(text(std::round), "rounded");
  EXPECT_EQ(text(std::floor), "rounded down");
  EXPECT_EQ(text(std::ceil), "rounded up");
}

// Products of a later group are beside a sum from which the large ones are gone.
TEST(KeptBits, DependOnThePositionIfProductsAreAddedInGroups) {
  auto figures = by_metric(Adder{.group = 16}.find());
  EXPECT_EQ(figures.at(metric::kBesideProducts).low, 14);
  EXPECT_EQ(figures.at(metric::kBesideProducts).high, kMostAccumulatorBits);
}

TEST(KeptBits, AreNotToldOfSumsThatNoAdderGives) {
  const auto nothing = [](std::span<const micro::AccumulatorCase> cases) {
    return std::vector<float>(cases.size(), 0);
  };
  EXPECT_THAT(find_kept_bits(MmaTypes::kF32E4m3, nothing).wrong,
              HasSubstr("65536 - 65536 + 65536 gave 0"));
}

}  // namespace
}  // namespace hgemm
