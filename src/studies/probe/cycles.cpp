#include "studies/probe/cycles.h"

#include <variant>

#include "base/error.h"
#include "families/family.h"

namespace hgemm {
namespace {

constexpr std::string_view kMetric = "cycles";
constexpr std::string_view kPer = "clk/";

}  // namespace

std::vector<Figure> recorded_cycles(const std::vector<CycleFigure>& cycles) {
  std::vector<Figure> figures;
  for (const CycleFigure& cycle : cycles) {
    figures.push_back({.point = cycle.role + '.' + cycle.phase,
                       .metric = std::string(kMetric),
                       .unit = std::string(kPer) + cycle.unit,
                       .value = cycle.mean(),
                       .low = cycle.mean(),
                       .high = cycle.mean(),
                       .samples = cycle.count});
  }
  return figures;
}

std::vector<CycleFigure> cycles_of(const Study& study) {
  std::vector<CycleFigure> cycles;
  for (const Figure& figure : study.figures) {
    const auto dot = figure.point.find('.');
    if (figure.metric != kMetric || dot == figure.point.npos) continue;
    if (!figure.unit.starts_with(kPer)) continue;
    cycles.push_back({.role = figure.point.substr(0, dot),
                      .phase = figure.point.substr(dot + 1),
                      .unit = figure.unit.substr(kPer.size()),
                      .count = figure.samples,
                      .cycles = figure.value * static_cast<double>(figure.samples)});
  }
  return cycles;
}

bool has_stamped_config(const Study& study) {
  try {
    return std::holds_alternative<TiledConfig>(parse_label(study.label));
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace hgemm
