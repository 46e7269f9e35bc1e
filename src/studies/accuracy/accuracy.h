// The accuracy of sums: the kinds of data that try it, what a study records of each, and the
// configs that differ only in how they keep sums.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "families/family.h"
#include "record/study.h"

namespace hgemm {

inline constexpr std::string_view kAccuracyStudy = "accuracy";

/// What A and B hold. Where magnitudes change along K, they do so from one block of kScaleBlock
/// elements to the next: by the scales of A if the problem has scales of blocks, else by A and B.
enum class AccuracyData : std::uint8_t {
  kNormal,      ///< N(0, sigma^2)
  kOneSign,     ///< magnitudes of that: all products are positive
  kGrowing,     ///< products grow along K, by 2^20 from the first block to the last
  kLargeBlock,  ///< the products of the middle block are 2^20 times as large as the others
  kCancelling,  ///< products of one sign, of which the second half of K takes back nearly all
};
/// The binary logarithm of the largest products over the smallest with kGrowing and kLargeBlock.
inline constexpr int kAccuracyOctaves = 20;

struct AccuracyKind {
  AccuracyData data;
  std::string_view name;  ///< the point of its figures: "one_sign"
  std::string_view text;  ///< for people
};
std::span<const AccuracyKind> accuracy_kinds();

/// Errors of D against the exact product of the operands as they are in memory, over the root mean
/// square of the exact product.
struct SumErrors {
  double worst = 0;  ///< the largest magnitude
  double rms = 0;
  double bias = 0;  ///< the mean, with the sign of the exact results: negative is toward zero
  double exact_rms = 0;
  std::int64_t outputs = 0;
};
/// The recorded form: three metrics of the kind's point, and "exact_rms".
void add_figures(std::vector<Figure>& figures, std::string_view kind, const SumErrors& errors);
/// The errors with a kind of data; zeros (no outputs) if the study has none.
SumErrors errors_of(const Study& study, std::string_view kind);

/// Why the study says nothing about the problem, or nullptr: it is about sums, with its own data.
const char* why_no_accuracy(const GemmProblem& problem);

/// Elements of K after which the config promotes sums; 0 if it does not.
int promoted_every(const KernelConfig& config);
/// The config with each way to keep sums with which it can compute the problem, each once: every
/// interval of promotion, or none. Empty if it cannot in any.
std::vector<KernelConfig> with_each_interval(const KernelConfig& config,
                                             const GemmProblem& problem);

}  // namespace hgemm
