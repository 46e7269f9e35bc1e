// How many bits the tensor cores keep of a sum: chosen sums, and what their results tell.
//
// Two products of 2^16 and -2^16 make all others of a sum small beside the largest addend, and
// leave no trace themselves. A third addend of 2^(16-n) then is in the result if its bit is kept,
// however few bits fp32 has. The incoming accumulator C takes each of the three places in turn.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernels/studies/micro/micro_params.h"
#include "record/study.h"
#include "studies/micro/points.h"

namespace hgemm {

/// Adds up cases, one instruction each.
using AddCases = std::function<std::vector<float>(std::span<const micro::AccumulatorCase>)>;

/// Metrics of an accumulator's study. Bits include the leading one; a value is the fewest over all
/// positions of the small addend in K, `low` and `high` are the fewest and the most.
namespace accumulator_metric {
/// A product, beside products that are larger.
inline constexpr const char* kBesideProducts = "bits_beside_products";
/// A product, beside a larger C: what a wgmma adds to the sums of those before.
inline constexpr const char* kBesideC = "bits_beside_c";
/// C beside larger products: what is kept of the sums before.
inline constexpr const char* kOfC = "bits_of_c";
/// The sum of K - 1 products of 2^16 and a small one, from its own leading bit on. An fp32 sum has
/// 24.
inline constexpr const char* kOfSum = "bits_of_sum";
/// What 3/4 of the last kept bit becomes, in units of that bit: a product, a negative product, C, a
/// negative C; and all products but two at once.
inline constexpr const char* kRest = "rest_of_product";
inline constexpr const char* kNegativeRest = "rest_of_negative_product";
inline constexpr const char* kRestOfC = "rest_of_c";
inline constexpr const char* kNegativeRestOfC = "rest_of_negative_c";
inline constexpr const char* kRests = "rest_of_many_products";
}  // namespace accumulator_metric

/// The largest number of bits that can be told.
inline constexpr int kMostAccumulatorBits = 28;

struct AccumulatorFindings {
  std::vector<Figure> figures;
  std::string wrong;  ///< a result that no adder gives; empty if there is none
};
/// Needs a type for which the point is possible.
AccumulatorFindings find_kept_bits(MmaTypes types, const AddCases& add);

/// What becomes of a positive and a negative rest, in words: "cut off".
std::string rounding_text(double rest, double negative_rest);

}  // namespace hgemm
