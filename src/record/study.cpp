#include "record/study.h"

#include <algorithm>

namespace hgemm {

const Figure* find_figure(const std::vector<Figure>& figures, std::string_view point,
                          std::string_view metric) {
  const auto found = std::ranges::find_if(figures, [&](const Figure& figure) {
    return figure.point == point && figure.metric == metric;
  });
  return found == figures.end() ? nullptr : &*found;
}

const std::vector<Sample>& Study::samples(std::string_view name) const {
  static const std::vector<Sample> kNone;
  const auto found = std::ranges::find(series, name, &Series::name);
  return found == series.end() ? kNone : found->samples;
}

std::vector<Sample>& Study::samples(std::string_view name) {
  const auto found = std::ranges::find(series, name, &Series::name);
  if (found != series.end()) return found->samples;
  return series.emplace_back(Series{std::string(name), {}}).samples;
}

}  // namespace hgemm
