// What the program asks of a config or a kernel, whatever its family: names, labels, rules, source,
// cost. search, compile, store, worker and tune use these functions and name no family.
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

/// What one family is. Specialised for each config in families/<family>/family.h:
///   KernelType, kName ("tiled"), kHeader (below kernels/), kFunction (of the kernel's body),
///   kKernelType, kConfigType (as C++ source names them), kPdl, axes(), suits(), predict_cost().
template <class Config>
struct Family;

/// When an operand may be read by a kernel that was launched while the one before it still runs.
enum class PdlKind : std::uint8_t {
  kOff,      ///< launched after it
  kSafe,     ///< no operand is read until that kernel is done; L2 may be asked for them
  kWeights,  ///< B is read before: the caller promises that no kernel before it writes B
};
std::string_view to_string(PdlKind kind);  ///< "off", "safe", "weights"

// ---- Names ----

/// Every family's name, in the order in which they are listed.
std::vector<std::string_view> family_names();
std::string_view family_name(const KernelConfig& config);

/// The config's identity: database key, --config argument, log line. Fields, one for each axis that
/// is not left out, joined with dots; that of a family other than tiled begins with its name:
/// "bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist", "swap_ab.bm16.bn64...".
std::string label(const KernelConfig& config);
/// Inverse of label(). Throws InputError that names the field at fault and what it must look like.
/// Accepts what label() writes, and labels of older versions (legacy_labels.h); does not judge
/// validity (why_invalid does).
KernelConfig parse_label(std::string_view text);

/// The kernel's name, as profilers and sanitizers show it: the label and what of the problem is
/// compiled in, made an identifier (hgemm_bm128_bn256_..._bf16).
std::string kernel_name(const Kernel& kernel);
/// That of the kernel which packs A and B before it.
std::string pack_kernel_name(const Kernel& kernel);
/// Names the build of a kernel for people and in databases: label, types, and extents where they
/// are constants: "bm64....fixed of bf16 512x512x512".
std::string build_name(const Kernel& kernel);

// ---- A config and a problem ----

/// The config made for the problem.
Kernel kernel_for(const KernelConfig& config, const GemmProblem& problem);
KernelConfig config_of(const Kernel& kernel);

/// A rule that a point breaks.
struct Rejection {
  std::string_view rule;    ///< "tile_m"
  std::string_view reason;  ///< what the rule demands, and its source
};
/// The first rule that the kernel breaks. A kernel that breaks none must compile without a spill.
std::optional<Rejection> why_invalid(const Kernel& kernel, const DeviceLimits& limits = {});
/// The same for a bf16 problem, whose extents are given at launch.
std::optional<Rejection> why_invalid(const KernelConfig& config, const DeviceLimits& limits = {});

/// Why the config's kernel cannot compute the problem, or nullptr if it can: the first rule that it
/// breaks for the problem's types, or the problem's extents.
const char* why_not(const KernelConfig& config, const GemmProblem& problem);
/// Why no family can compute the problem, or nullptr: its attributes or types.
const char* why_no_kernel(const GemmProblem& problem);

/// Whether a space's config is worth trying on the problem, which it can compute: a tile is not far
/// larger than the output, and packing and staged stores are for problems that others cannot
/// compute. (A config that is asked for by its label is tried wherever it can be.)
bool suits(const KernelConfig& config, const GemmProblem& problem);
/// suits() in two halves, for many problems: whether the kernel can have the types, which takes
/// most of the time and few answers differ in; and, where it can, what the extents say.
bool has_types(const KernelConfig& config, const GemmKind& types);
bool suits_extents(const KernelConfig& config, const GemmProblem& problem);

/// What the kernel should take. The config must be valid and able to compute the problem.
Cost predict_cost(const CostFigures& figures, const KernelConfig& config,
                  const GemmProblem& problem);

// ---- Properties that all families have ----

PdlKind pdl_kind(const KernelConfig& config);
KernelConfig with_pdl(KernelConfig config, bool pdl);
/// Extents are constants in its kernels.
bool is_fixed(const KernelConfig& config);
KernelConfig without_fixed(KernelConfig config);
/// A build with cycle stamps.
bool is_probed(const KernelConfig& config);
/// CTAs of a launch wait for one another in memory: all must be resident at once.
bool waits_in_memory(const KernelConfig& config);

// ---- Axes ----

/// What people read of a family's axes, in the order of its labels. `family` is one of
/// family_names().
std::vector<AxisText> axes_of(std::string_view family);
/// One axis and its value in a config, without the label's field: {"order", "group8"}.
struct AxisValue {
  std::string_view axis;
  std::string value;
  std::int64_t rank;  ///< orders the values of an axis
};
std::vector<AxisValue> axis_values(const KernelConfig& config);

/// How unlike two configs are: a sum over the axes, about 1 for a tile of twice the size. Configs
/// of two families differ by at least 1, and in the axes that have the same name.
double config_distance(const KernelConfig& a, const KernelConfig& b);
/// The config with its minor axes (AxisText::minor) at their defaults: configs of which this is the
/// same are near relatives.
KernelConfig without_minor_axes(const KernelConfig& config);

// ---- Source ----

/// What the kernel's definition needs, by their paths below kernels/: "tiled/kernel.cuh".
std::vector<std::string> kernel_headers(const Kernel& kernel);
/// The kernel as a constant of that name, and the function that is instantiated for it, as
///   <linkage> __global__ void <kernel_name>(const __grid_constant__ hgemm::KernelParams)
/// and, if A and B are packed,
///   <linkage> __global__ void <pack_kernel_name>(const __grid_constant__ hgemm::PackParams)
/// A probed config gets the plain kernel here.
std::string kernel_definition(const Kernel& kernel, const std::string& constant,
                              const std::string& linkage);
/// The function with cycle stamps beside it; "" unless the config is probed.
std::string probed_definition(const Kernel& kernel, const std::string& constant,
                              const std::string& linkage);

}  // namespace hgemm
