// Selects the tuned shape that stands in for a shape that was not tuned. Packages contain a copy of
// this file, so it includes no other header of this project.
#pragma once

#include <cmath>

namespace hgemm {

/// A problem: `products` of a batch, or 1, each of which has these extents.
struct FallbackShape {
  long long m, n, k;
  long long products = 1;
};

inline double powers_apart(long long a, long long b) {
  return std::fabs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

/// Whether a kernel that was tuned for `tuned_m` rows is meant for `m`, too: for as many, or for
/// fewer within a factor of 4. Such tiles are not mostly empty.
inline bool is_in_bucket(long long tuned_m, long long m) {
  constexpr long long kLargestBucket = 4;
  return m <= tuned_m && tuned_m <= kLargestBucket * m;
}

/// Penalty of using a shape with the same N and K for another number of rows; lower is better. The
/// next larger shape in whose bucket the rows are comes first, since a tile for fewer rows would
/// read B more than once. After that, the nearest by ratio. Other numbers of products count by
/// their ratio: they change how many tiles there are, but not how well a tile suits a product.
inline double bucket_distance(const FallbackShape& tuned, const FallbackShape& wanted) {
  const double apart = powers_apart(tuned.m, wanted.m);
  return (is_in_bucket(tuned.m, wanted.m) ? apart : 4 + apart) +
         powers_apart(tuned.products, wanted.products);
}

/// Squared distance to another shape, in powers of two. M counts twice, since it decides the kind
/// of kernel.
inline double shape_distance(const FallbackShape& tuned, const FallbackShape& wanted) {
  const double m_apart = powers_apart(tuned.m, wanted.m);
  const double n_apart = powers_apart(tuned.n, wanted.n);
  const double k_apart = powers_apart(tuned.k, wanted.k);
  const double products_apart = powers_apart(tuned.products, wanted.products);
  return 2 * m_apart * m_apart + n_apart * n_apart + k_apart * k_apart +
         products_apart * products_apart;
}

}  // namespace hgemm
