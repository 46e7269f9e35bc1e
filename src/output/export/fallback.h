// Which tuned shape stands in for one that was not tuned. Packages have a copy of this file: it
// includes nothing of ours.
#pragma once

#include <cmath>

namespace hgemm {

inline double powers_apart(long long a, long long b) {
  return std::fabs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

/// How ill a shape of the same N and K that was tuned with `tuned_m` rows suits `m`: the next
/// larger one within a factor of 4 comes first, since a tile for fewer rows would read B more than
/// once; then what is nearest by ratio.
inline double bucket_distance(long long tuned_m, long long m) {
  const double apart = powers_apart(tuned_m, m);
  return tuned_m >= m && apart <= 2 ? apart : 4 + apart;
}

/// How far another shape is, in powers of two; M counts twice, since it decides the kind of kernel.
inline double shape_distance(long long tuned_m, long long tuned_n, long long tuned_k, long long m,
                             long long n, long long k) {
  const double m_apart = powers_apart(tuned_m, m);
  const double n_apart = powers_apart(tuned_n, n);
  const double k_apart = powers_apart(tuned_k, k);
  return 2 * m_apart * m_apart + n_apart * n_apart + k_apart * k_apart;
}

}  // namespace hgemm
