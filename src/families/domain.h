// The values of an axis in the whole space (AxisText::domain).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "families/axis.h"

namespace hgemm {

/// The words of a domain, in its order: "8:24:8, all" is 8, 16, 24, all. Throws std::logic_error if
/// it is not a list of words and ranges "start:end:step".
std::vector<std::string> domain_words(std::string_view domain);

/// The values of an axis in the whole space, each as a config with that value and otherwise
/// defaults. An axis that is not in spaces has its default only.
template <class Config>
std::vector<Config> domain_values(const Axis<Config>& axis) {
  std::vector<Config> values;
  for (const std::string& word : domain_words(axis.text.domain)) {
    if (Config config; axis.parse(config, word)) values.push_back(config);
  }
  if (values.empty()) values.emplace_back();
  return values;
}

}  // namespace hgemm
