// Selects the tuned shape that stands in for a shape that was not tuned. Packages contain a copy of
// this file, so it includes no other header of this project.
#pragma once

#include <cmath>

namespace hgemm {

inline double powers_apart(long long a, long long b) {
  return std::fabs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

/// Penalty of using a shape with the same N and K, tuned with `tuned_m` rows, for `m` rows; lower
/// is better. The next larger shape within a factor of 4 comes first, since a tile for fewer rows
/// would read B more than once. After that, the nearest by ratio.
inline double bucket_distance(long long tuned_m, long long m) {
  const double apart = powers_apart(tuned_m, m);
  return tuned_m >= m && apart <= 2 ? apart : 4 + apart;
}

/// Squared distance to another shape, in powers of two. M counts twice, since it decides the kind
/// of kernel.
inline double shape_distance(long long tuned_m, long long tuned_n, long long tuned_k, long long m,
                             long long n, long long k) {
  const double m_apart = powers_apart(tuned_m, m);
  const double n_apart = powers_apart(tuned_n, n);
  const double k_apart = powers_apart(tuned_k, k);
  return 2 * m_apart * m_apart + n_apart * n_apart + k_apart * k_apart;
}

}  // namespace hgemm
