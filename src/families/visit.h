// How generic code gets at a family: by the type of a config, or by the family's name. For this
// folder and the reader of space files; other code uses families/family.h.
#pragma once

#include <string_view>
#include <utility>

#include "families/gemv/family.h"
#include "families/swap_ab/family.h"
#include "families/tiled/family.h"

namespace hgemm {

/// Calls `visit` with a default config of each family, in their order.
template <class Visit>
void for_each_family(const Visit& visit) {
  const auto all = [&]<std::size_t... i>(std::index_sequence<i...>) {
    (visit(std::variant_alternative_t<i, KernelConfig>{}), ...);
  };
  all(std::make_index_sequence<std::variant_size_v<KernelConfig>>{});
}

/// Calls `visit` with a default config of the family with that name. Returns false if there is
/// none.
template <class Visit>
bool visit_family(std::string_view name, const Visit& visit) {
  bool found = false;
  for_each_family([&]<class Config>(const Config& config) {
    if (found || Family<Config>::kName != name) return;
    found = true;
    visit(config);
  });
  return found;
}

/// A kernel's config, without the compiled-in parts of the problem.
template <class KernelType>
const typename KernelType::Config& config_part(const KernelType& kernel) {
  return kernel;
}

}  // namespace hgemm
