#include "study/chain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace hgemm {
namespace {

/// "some-8b/decode" of "some-8b/decode/qkv+some-8b/decode/out".
std::string_view model_of(const Shape& shape) {
  const std::string_view first = std::string_view(shape.tag).substr(0, shape.tag.find('+'));
  const auto slash = first.rfind('/');
  return slash == first.npos ? std::string_view() : first.substr(0, slash);
}

bool in_one_step(const Shape& shape, const Shape& other) {
  return shape.m == other.m && shape.dtype == other.dtype && shape.layout == other.layout &&
         model_of(shape) == model_of(other);
}

/// How many of a layer's links each shape is. The lower median, so that of two shapes the rarer one
/// comes once.
std::vector<long> copies_in_a_layer(std::span<const Shape> shapes) {
  std::vector<double> weights;
  for (const Shape& shape : shapes) weights.push_back(shape.weight);
  std::ranges::sort(weights);
  const double once = weights[(weights.size() - 1) / 2];
  std::vector<long> copies;
  for (const Shape& shape : shapes) copies.push_back(std::lround(shape.weight / once));
  return copies;
}

Chain chain_of(std::span<const Shape> shapes, int length) {
  Chain chain;
  std::vector<Shape> layer;
  std::vector<std::string> layer_text;
  const std::vector<long> copies = copies_in_a_layer(shapes);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (copies[i] == 0) {
      chain.left_out.push_back(shapes[i]);
      continue;
    }
    // More than the chain has room for need not be made.
    const long room = length - static_cast<long>(layer.size());
    layer.insert(layer.end(), static_cast<std::size_t>(std::clamp(copies[i], 0L, room)), shapes[i]);
    layer_text.push_back(fmt::format("{}{}x{}", copies[i] > 1 ? fmt::format("{}*", copies[i]) : "",
                                     shapes[i].n, shapes[i].k));
  }
  const auto links = static_cast<std::size_t>(length);
  while (chain.links.size() < links)
    chain.links.push_back(layer[chain.links.size() % layer.size()]);
  chain.label = fmt::format("chain.m{}.{}.x{}.{}", shapes.front().m, fmt::join(layer_text, "+"),
                            length, to_string(shapes.front().dtype));
  return chain;
}

}  // namespace

std::vector<Chain> chains_of(std::span<const Shape> shapes, int length) {
  std::vector<std::vector<Shape>> steps;
  for (const Shape& shape : shapes) {
    const auto step = std::ranges::find_if(
        steps, [&](const std::vector<Shape>& known) { return in_one_step(known.front(), shape); });
    if (step != steps.end()) {
      step->push_back(shape);
    } else {
      steps.push_back({shape});
    }
  }
  std::vector<Chain> chains;
  for (const std::vector<Shape>& step : steps) chains.push_back(chain_of(step, length));
  return chains;
}

bool feeds(const Shape& link, const Shape& next) {
  return link.dtype == next.dtype && link.m * link.n >= next.m * next.k;
}

double weight_bytes(std::span<const ChainLink> links) {
  double bytes = 0;
  for (const ChainLink& link : links) {
    bytes += element_bytes(link.shape.dtype) * static_cast<double>(link.shape.n) *
             static_cast<double>(link.shape.k);
  }
  return bytes;
}

}  // namespace hgemm
