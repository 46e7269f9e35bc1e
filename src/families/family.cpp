#include "families/family.h"

#include <algorithm>

#include "families/groups.h"
#include "families/shared_axes.h"
#include "families/visit.h"

namespace hgemm {
namespace {

/// Applies `use` to the config, whatever its type.
template <class Use>
auto with(const KernelConfig& config, const Use& use) {
  return std::visit(use, config);
}

template <class Config>
typename Family<Config>::KernelType made_for(const Config& config, GemmKind kind) {
  if (!config.fixed) kind.m = kind.n = kind.k = 0;
  return {config, kind};
}

GemmKind full_kind(const GemmProblem& problem) {
  GemmKind kind = problem.kind();
  kind.m = static_cast<int>(problem.m);
  kind.n = static_cast<int>(problem.n);
  kind.k = static_cast<int>(problem.k);
  return kind;
}

/// The first rule that the config's kernel breaks for these types, whatever the extents; or
/// nullptr.
template <class Config>
const char* why_not_types(const Config& config, GemmKind kind) {
  kind.m = kind.n = kind.k = 0;
  const typename Family<Config>::KernelType kernel{config, kind};
  const auto rule = why_invalid(kernel);
  return rule == decltype(rule)::kValid ? nullptr : rule_text(rule).reason;
}

/// kMaxTiles of families/launch_parts.h, which this layer may not include.
constexpr long long kMostTiles = (1 << 25) - 1;

/// Whether positions in the tile order, times their factor, exceed 32 bits.
template <class Config>
bool has_too_many_tiles(const Config& c, const ProblemExtents& p) {
  if constexpr (requires { c.bm* c.bn; }) {
    return (p.m / c.bm + 1) * (p.n / c.bn + 1) > kMostTiles / p.batch.count;
  } else {
    return gemv_grid(c, static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.lda),
                     static_cast<int>(p.ldb))
               .blocks() > kMostTiles;
  }
}

/// The reason why the config's kernel cannot compute these extents, or nullptr.
template <class Config>
const char* why_not_extents(const Config& config, const GemmProblem& problem) {
  const ProblemExtents extents = problem.extents();
  if (const char* reason = why_unsupported(made_for(config, full_kind(problem)), extents)) {
    return reason;
  }
  return has_too_many_tiles(config, extents) ? "the output has 2^25 or more tiles of this config, "
                                               "and their order is 32-bit; larger "
                                               "tiles are fewer"
                                             : nullptr;
}

/// A property that only some families have; false for the others.
template <class Config>
bool packs_inputs(const Config& c) {
  if constexpr (requires { c.pack; }) return c.pack;
  return false;
}
template <class Config>
bool stores_anywhere(const Config& c) {
  if constexpr (requires { c.store; }) return c.store == StorePath::kStaged;
  return false;
}

}  // namespace

double Cost::us() const {
  double sum = 0;
  for (const CostTerm& term : terms) sum += term.us;
  return sum;
}

std::string_view to_string(PdlKind kind) {
  switch (kind) {
    case PdlKind::kOff:
      return "off";
    case PdlKind::kSafe:
      return "safe";
    case PdlKind::kWeights:
      return "weights";
  }
  return "?";
}

// ---- A config and a problem ----

Kernel kernel_for(const KernelConfig& config, const GemmProblem& problem) {
  return with(config, [&](const auto& c) -> Kernel { return made_for(c, full_kind(problem)); });
}

KernelConfig config_of(const Kernel& kernel) {
  return std::visit([](const auto& k) -> KernelConfig { return config_part(k); }, kernel);
}

std::optional<Rejection> why_invalid(const Kernel& kernel, const DeviceLimits& limits) {
  return std::visit(
      [&](const auto& k) -> std::optional<Rejection> {
        const auto rule = why_invalid(k, limits);
        if (rule == decltype(rule)::kValid) return std::nullopt;
        const RuleText text = rule_text(rule);
        return Rejection{text.name, text.reason};
      },
      kernel);
}

std::optional<Rejection> why_invalid(const KernelConfig& config, const DeviceLimits& limits) {
  return with(config, [&](const auto& c) { return why_invalid(Kernel(made_for(c, {})), limits); });
}

const char* why_not(const KernelConfig& config, const GemmProblem& problem) {
  if (const char* reason = why_unsupported(problem)) return reason;
  return with(config, [&](const auto& c) {
    // Without the extents: a kernel that cannot have them as constants breaks a rule, too.
    const char* const reason = why_not_types(c, problem.kind());
    return reason ? reason : why_not_extents(c, problem);
  });
}

const char* why_no_kernel(const GemmProblem& problem) {
  if (const char* reason = why_unsupported(problem)) return reason;
  if (!types_are_supported(problem.kind())) return kTypesRule.reason;
  const ProblemExtents extents = problem.extents();
  return extents.batch.by_pointers && !inputs_are_aligned(extents, problem.a_type)
             ? kUnalignedByPointers
             : nullptr;
}

bool suits(const KernelConfig& config, const GemmProblem& problem) {
  return !why_unsupported(problem) && has_types(config, problem.kind()) &&
         suits_extents(config, problem);
}

bool has_types(const KernelConfig& config, const GemmKind& types) {
  return with(config, [&](const auto& c) { return why_not_types(c, types) == nullptr; });
}

bool suits_extents(const KernelConfig& config, const GemmProblem& problem) {
  const ProblemExtents extents = problem.extents();
  return with(config, [&]<class Config>(const Config& c) {
    if (why_not_extents(c, problem)) return false;
    // Features that this problem does not need cost time.
    if (packs_inputs(c) && inputs_are_aligned(extents, problem.a_type)) return false;
    if (stores_anywhere(c) && output_is_aligned(extents, problem.d_type)) return false;
    return Family<Config>::suits(made_for(c, full_kind(problem)), problem);
  });
}

Cost predict_cost(const CostFigures& figures, const KernelConfig& config,
                  const GemmProblem& problem) {
  return with(config, [&]<class Config>(const Config& c) {
    return Family<Config>::predict_cost(figures, made_for(c, full_kind(problem)), problem);
  });
}

// ---- Properties that all families have ----

PdlKind pdl_kind(const KernelConfig& config) {
  return with(config, []<class Config>(const Config& c) {
    if (!c.pdl) return PdlKind::kOff;
    if constexpr (requires { reads_b_early(c); }) {
      if (reads_b_early(c)) return PdlKind::kWeights;
    }
    return PdlKind::kSafe;
  });
}
KernelConfig with_pdl(KernelConfig config, bool pdl) {
  std::visit(
      [&](auto& c) {
        c.pdl = pdl;
        if (!pdl) clear_pdl_details(c);
      },
      config);
  return config;
}
bool is_fixed(const KernelConfig& config) {
  return with(config, [](const auto& c) { return c.fixed; });
}
KernelConfig without_fixed(KernelConfig config) {
  std::visit([](auto& c) { c.fixed = false; }, config);
  return config;
}
bool is_probed(const KernelConfig& config) {
  return with(config, []<class Config>(const Config& c) {
    if constexpr (requires { c.probe; }) return c.probe;
    return false;
  });
}
bool waits_in_memory(const KernelConfig& config) {
  return with(config, []<class Config>(const Config& c) {
    if constexpr (requires { adds_in_workspace(c); }) return adds_in_workspace(c);
    return false;
  });
}

// ---- Axes ----

std::vector<std::string_view> family_names() {
  std::vector<std::string_view> names;
  for_each_family([&]<class Config>(const Config&) { names.push_back(Family<Config>::kName); });
  return names;
}

std::string_view family_name(const KernelConfig& config) {
  return with(config, []<class Config>(const Config&) { return Family<Config>::kName; });
}

std::vector<AxisText> axes_of(std::string_view family) {
  std::vector<AxisText> texts;
  visit_family(family, [&]<class Config>(const Config&) {
    for (const Axis<Config>& axis : Family<Config>::axes()) texts.push_back(axis.text);
  });
  return texts;
}

std::vector<AxisValue> axis_values(const KernelConfig& config) {
  std::vector<AxisValue> values;
  with(config, [&]<class Config>(const Config& c) {
    for (const Axis<Config>& axis : Family<Config>::axes()) {
      values.push_back({axis.text.name, axis.print(c), axis.rank(c)});
    }
  });
  return values;
}

namespace {

constexpr double kOtherFamily = 1;

template <class Config>
double distance_between(const Config& a, const Config& b) {
  double sum = 0;
  for (const Axis<Config>& axis : Family<Config>::axes()) sum += axis.distance(a, b);
  return sum;
}
/// Distance of two configs of different families, over the axes with the same name. Numbers are
/// compared by their ratio, as within a family.
template <class One, class Other>
double distance_between(const One& a, const Other& b) {
  constexpr double kWordWeight = 0.5;
  double sum = kOtherFamily;
  for (const Axis<One>& axis : Family<One>::axes()) {
    const auto same = std::ranges::find_if(Family<Other>::axes(), [&](const Axis<Other>& other) {
      return other.text.name == axis.text.name;
    });
    if (same == Family<Other>::axes().end() || axis.print(a) == same->print(b)) continue;
    const bool is_size = axis.text.number && axis.text.in_label == AxisText::InLabel::kAlways;
    sum += is_size ? ratio_distance(static_cast<double>(std::max<std::int64_t>(1, axis.raw(a)[0])),
                                    static_cast<double>(std::max<std::int64_t>(1, same->raw(b)[0])))
                   : kWordWeight;
  }
  return sum;
}

}  // namespace

double config_distance(const KernelConfig& a, const KernelConfig& b) {
  return std::visit([](const auto& one, const auto& other) { return distance_between(one, other); },
                    a, b);
}

KernelConfig without_minor_axes(const KernelConfig& config) {
  return with(config, []<class Config>(const Config& c) -> KernelConfig {
    Config plain = c;
    for (const Axis<Config>& axis : Family<Config>::axes()) {
      if (axis.text.minor) axis.copy(plain, Config{});
    }
    return plain;
  });
}

ConfigGroups groups_of(const KernelConfig& config) {
  return with(config, [](const auto& c) { return groups_of(c); });
}

// ---- Source ----

std::vector<std::string> kernel_headers(const Kernel& kernel) {
  return std::visit(
      []<class KernelType>(const KernelType& k) {
        std::vector<std::string> headers = {
            std::string(Family<typename KernelType::Config>::kHeader)};
        if (packs(k)) headers.emplace_back("common/pack.cuh");
        if (is_8_bit(k.gemm.input)) headers.emplace_back("common/wgmma_fp8.cuh");
        return headers;
      },
      kernel);
}

namespace {

template <class Config>
std::string initialisers(const Config& c) {
  std::string text;
  for (const Axis<Config>& axis : Family<Config>::axes()) {
    const auto values = axis.raw(c);
    for (std::size_t i = 0; i < axis.member_count; ++i) {
      const AxisMember& member = axis.members[i];
      text += member.type.empty() ? fmt::format("    .{} = {},\n", member.name, values[i])
                                  : fmt::format("    .{} = hgemm::{}{{{}}},\n", member.name,
                                                member.type, values[i]);
    }
  }
  return text;
}

/// Nothing for layout TN: the source of its kernels, and with it their place in the cache, is what
/// it was before there were others.
std::string major_initialisers(const GemmKind& kind) {
  if (kind.a_major == Major::kK && kind.b_major == Major::kK) return "";
  return fmt::format("    .a_major = hgemm::Major{{{}}},\n    .b_major = hgemm::Major{{{}}},\n",
                     static_cast<int>(kind.a_major), static_cast<int>(kind.b_major));
}

/// Nothing for a plain kernel, for the same reason.
std::string epilogue_initialisers(const GemmKind& kind) {
  std::string text;
  if (has_epilogue(kind)) {
    text = fmt::format("    .epilogue = {},\n    .adds_c = {},\n",
                       epilogue_definition(kind.epilogue), kind.adds_c);
  }
  if (kind.batched) text += "    .batched = true,\n";
  if (kind.by_pointers) text += "    .by_pointers = true,\n";
  if (kind.b_is_other) text += "    .b_is_other = true,\n";
  if (kind.fast_sums) text += "    .fast_sums = true,\n";
  if (kind.scaling != Scaling::kNone) {
    text += fmt::format("    .scaling = hgemm::Scaling{{{}}},\n", static_cast<int>(kind.scaling));
  }
  if (finds_output_scales(kind)) {
    text += fmt::format("    .output_scaling = hgemm::OutputScaling{{{}}},\n",
                        static_cast<int>(kind.output_scaling));
  }
  return text;
}

std::string_view params_type(const Kernel& kernel) {
  if (is_of_blocks(kind_of(kernel).scaling)) return "BlockScaledParams";
  if (kind_of(kernel).scaling != Scaling::kNone || is_8_bit(kind_of(kernel).output)) {
    return "ScaledParams";
  }
  if (kind_of(kernel).by_pointers) return "PointersParams";
  if (kind_of(kernel).batched) return "BatchedParams";
  if (kind_of(kernel).epilogue.aux) return "AuxParams";
  if (has_epilogue(kind_of(kernel))) return "EpilogueParams";
  return is_numbered(kernel) ? "NumberedParams" : "KernelParams";
}

std::string launch_attributes(const Kernel& kernel) {
  return fmt::format("{}__launch_bounds__({}, {})",
                     cluster_size(kernel) > 1
                         ? fmt::format("__cluster_dims__({}, 1, 1) ", cluster_size(kernel))
                         : "",
                     threads_per_cta(kernel), ctas_per_sm(kernel));
}

Kernel without_probe(Kernel kernel) {
  std::visit(
      [](auto& k) {
        if constexpr (requires { k.probe; }) k.probe = false;
      },
      kernel);
  return kernel;
}

}  // namespace

std::string epilogue_definition(const Epilogue& epilogue) {
  return fmt::format("{{hgemm::Bias{{{}}}, hgemm::Activation{{{}}}, hgemm::Gate{{{}}}{}{}}}",
                     static_cast<int>(epilogue.bias), static_cast<int>(epilogue.activation),
                     static_cast<int>(epilogue.gate),
                     epilogue.scaled ? ", true"
                     : epilogue.aux  ? ", false"
                                     : "",
                     epilogue.aux ? ", true" : "");
}

std::string kernel_definition(const Kernel& probed, const std::string& constant,
                              const std::string& linkage) {
  const Kernel kernel = without_probe(probed);
  std::string text = std::visit(
      [&]<class KernelType>(const KernelType& k) {
        using F = Family<typename KernelType::Config>;
        const GemmKind& kind = k.gemm;
        return fmt::format(
            R"(inline constexpr hgemm::{} {}{{
  hgemm::{}{{
{}  }},
  hgemm::GemmKind{{
    .input = hgemm::DataType{{{}}},
    .output = hgemm::DataType{{{}}},
    .m = {},
    .n = {},
    .k = {},
{}{}  }}}};

{} __global__ void {}
    {}(const __grid_constant__ hgemm::{} params) {{
  hgemm::{}<{}>(params);
}}
)",
            F::kKernelType, constant, F::kConfigType, initialisers(config_part(k)),
            static_cast<int>(kind.input), static_cast<int>(kind.output), kind.m, kind.n, kind.k,
            major_initialisers(kind), epilogue_initialisers(kind), linkage,
            launch_attributes(kernel), kernel_name(kernel), params_type(kernel), F::kFunction,
            constant);
      },
      kernel);
  if (!packs(kernel)) return text;
  return text + fmt::format(R"(
{} __global__ void __launch_bounds__(hgemm::kPackThreads)
    {}(const __grid_constant__ hgemm::PackParams params) {{
  hgemm::pack<{}.pdl>(params);
}}
)",
                            linkage, pack_kernel_name(kernel), constant);
}

std::string probed_definition(const Kernel& kernel, const std::string& constant,
                              const std::string& linkage) {
  if (!is_probed(config_of(kernel))) return "";
  const std::string_view function =
      std::visit([]<class KernelType>(
                     const KernelType&) { return Family<typename KernelType::Config>::kFunction; },
                 kernel);
  return fmt::format(R"(
inline constexpr auto {0}Probed = hgemm::with_probe({0});

{1} __global__ void {2}
    {3}(const __grid_constant__ hgemm::{5} params,
       const __grid_constant__ hgemm::ProbeRecords records) {{
  hgemm::{4}<{0}Probed>(params, hgemm::CtaProbe<{0}Probed>(records));
}}
)",
                     constant, linkage, launch_attributes(kernel), kernel_name(kernel), function,
                     params_type(kernel));
}

}  // namespace hgemm
