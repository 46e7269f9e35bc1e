// Properties of a config or a kernel of any family: names, labels, rules, source, cost. search,
// compile, store, worker and tune use these functions and name no family.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "families/axis.h"
#include "families/cost.h"
#include "families/kernel.h"
#include "gemm/problem.h"

namespace hgemm {

/// A family, as a specialisation for its config in families/<family>/family.h. Members: KernelType;
/// kName ("tiled"); kHeader (path below kernels/); kFunction (the function that is the kernel's
/// body); kKernelType and kConfigType (their names in C++ source); axes(), suits(),
/// predict_cost().
template <class Config>
struct Family;

/// When a kernel may read an operand if it was launched while the kernel before it still runs.
enum class PdlKind : std::uint8_t {
  kOff,      ///< the kernel is launched after the one before has ended
  kSafe,     ///< reads no operand before that kernel has ended; it may only prefetch them into L2
  kWeights,  ///< reads B before that: the caller promises that no kernel before it writes B
};
std::string_view to_string(PdlKind kind);  ///< "off", "safe", "weights"

// ---- Names ----

/// Names of all families, in listing order.
std::vector<std::string_view> family_names();
std::string_view family_name(const KernelConfig& config);

/// The config's identity: database key, --config argument, log line. One field for each axis that
/// is not left out, joined with dots. Labels of families other than tiled begin with the family's
/// name: "bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist", "swap_ab.bm16.bn64...".
std::string label(const KernelConfig& config);
/// Inverse of label(). Throws InputError that names the wrong field and its pattern. Accepts the
/// output of label(), and labels of older versions (legacy_labels.h). Does not check validity
/// (why_invalid() does).
KernelConfig parse_label(std::string_view text);

/// The kernel's name in profilers and sanitizers: the label and the compiled-in parts of the
/// problem, as an identifier (hgemm_bm128_bn256_..._bf16).
std::string kernel_name(const Kernel& kernel);
/// The name of the kernel that packs A and B before it.
std::string pack_kernel_name(const Kernel& kernel);
/// Name of a kernel's build, for people and databases: label, types, and extents if they are
/// constants: "bm64....fixed of bf16 512x512x512".
std::string build_name(const Kernel& kernel);

// ---- A config and a problem ----

/// The kernel of a config for a problem.
Kernel kernel_for(const KernelConfig& config, const GemmProblem& problem);
KernelConfig config_of(const Kernel& kernel);

/// A rule that is broken.
struct Rejection {
  std::string_view rule;    ///< "tile_m"
  std::string_view reason;  ///< the requirement of the rule, and its source
};
/// The first rule that the kernel breaks. A kernel that breaks none must compile without a spill.
std::optional<Rejection> why_invalid(const Kernel& kernel, const DeviceLimits& limits = {});
/// The same for a bf16 problem whose extents are given at launch.
std::optional<Rejection> why_invalid(const KernelConfig& config, const DeviceLimits& limits = {});

/// Why the config's kernel cannot compute the problem, or nullptr if it can: the first rule that it
/// breaks for the problem's types, or a limit on the extents.
const char* why_not(const KernelConfig& config, const GemmProblem& problem);
/// Why no family can compute the problem (its attributes or types), or nullptr.
const char* why_no_kernel(const GemmProblem& problem);

/// Whether a config of a space is worth trying at a problem that it can compute: its tile is not
/// far larger than the output, and it packs or stages stores only if the problem needs that. (A
/// config that is requested by its label is tried in any case.)
bool suits(const KernelConfig& config, const GemmProblem& problem);
/// The two halves of suits(), for use with many problems: whether the kernel supports the types
/// (this takes most of the time, and few problems differ in it); and, if it does, whether the
/// extents suit it.
bool has_types(const KernelConfig& config, const GemmKind& types);
bool suits_extents(const KernelConfig& config, const GemmProblem& problem);

/// The predicted cost of the kernel. The config must be valid and able to compute the problem.
Cost predict_cost(const CostFigures& figures, const KernelConfig& config,
                  const GemmProblem& problem);

// ---- Properties that all families have ----

PdlKind pdl_kind(const KernelConfig& config);
KernelConfig with_pdl(KernelConfig config, bool pdl);
/// Whether the extents are constants in its kernels.
bool is_fixed(const KernelConfig& config);
KernelConfig without_fixed(KernelConfig config);
/// Whether its kernel has cycle stamps.
bool is_probed(const KernelConfig& config);
/// Whether CTAs of a launch wait for one another in memory, so that all must be resident at once.
bool waits_in_memory(const KernelConfig& config);

// ---- Axes ----

/// The texts of a family's axes, in the order of its labels. `family` is one of family_names().
std::vector<AxisText> axes_of(std::string_view family);
/// The value of an axis in a config, without the prefix of the label's field: {"order", "group8"}.
struct AxisValue {
  std::string_view axis;
  std::string value;
  std::int64_t rank;  ///< orders the values of an axis
};
std::vector<AxisValue> axis_values(const KernelConfig& config);

/// Distance of two configs: a sum over the axes, about 1 for a tile of twice the size. Configs of
/// two families differ by at least 1 plus the distance over the axes with the same name.
double config_distance(const KernelConfig& a, const KernelConfig& b);
/// The config with its minor axes (AxisText::minor) at their defaults. Configs for which this is
/// the same are kin.
KernelConfig without_minor_axes(const KernelConfig& config);

// ---- Source ----

/// Headers that the kernel's definition needs, as paths below kernels/: "tiled/kernel.cuh".
std::vector<std::string> kernel_headers(const Kernel& kernel);
/// Source text: the kernel as a constant with that name, and the function that instantiates it, as
///   <linkage> __global__ void <kernel_name>(const __grid_constant__ hgemm::KernelParams)
/// and, if A and B are packed,
///   <linkage> __global__ void <pack_kernel_name>(const __grid_constant__ hgemm::PackParams)
/// For a probed config this is the plain kernel.
std::string kernel_definition(const Kernel& kernel, const std::string& constant,
                              const std::string& linkage);
/// Source text of an epilogue's value: "{hgemm::Bias{0}, ...}".
std::string epilogue_definition(const Epilogue& epilogue);
/// Source text of the kernel with cycle stamps beside it; "" unless the config is probed.
std::string probed_definition(const Kernel& kernel, const std::string& constant,
                              const std::string& linkage);

}  // namespace hgemm
