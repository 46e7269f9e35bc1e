#include "studies/chain/chain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace hgemm {
namespace {

/// The model in tags: "some-8b/decode" for "some-8b/decode/qkv+some-8b/decode/out".
std::string_view model_of(const GemmProblem& problem) {
  const std::string_view first = std::string_view(problem.tag).substr(0, problem.tag.find('+'));
  const auto slash = first.rfind('/');
  return slash == first.npos ? std::string_view() : first.substr(0, slash);
}

bool in_one_step(const GemmProblem& problem, const GemmProblem& other) {
  return problem.m == other.m && types_text(problem) == types_text(other) &&
         problem.layout == other.layout && model_of(problem) == model_of(other);
}

/// How often each problem occurs in a layer. It divides by the lower median of the weights, so that
/// of two problems the rarer one occurs once.
std::vector<long> copies_in_a_layer(std::span<const GemmProblem> problems) {
  std::vector<double> weights;
  for (const GemmProblem& problem : problems) weights.push_back(problem.weight);
  std::ranges::sort(weights);
  const double once = weights[(weights.size() - 1) / 2];
  std::vector<long> copies;
  for (const GemmProblem& problem : problems) copies.push_back(std::lround(problem.weight / once));
  return copies;
}

/// "4096x11008", "22016x4096.swiglu", or "4096x4096.c" with a C that is added.
std::string link_text(const GemmProblem& problem) {
  std::string text = fmt::format("{}x{}", problem.n, problem.k);
  if (problem.c_type) text += ".c";
  if (problem.epilogue != Epilogue{}) text += "." + to_string(problem.epilogue);
  return text;
}

Chain chain_of(std::span<const GemmProblem> problems, int length) {
  Chain chain;
  std::vector<GemmProblem> layer;
  std::vector<std::string> layer_text;
  const std::vector<long> copies = copies_in_a_layer(problems);
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (copies[i] == 0) {
      chain.left_out.push_back(problems[i]);
      continue;
    }
    // Copies beyond the length of the chain are not needed.
    const long room = length - static_cast<long>(layer.size());
    layer.insert(layer.end(), static_cast<std::size_t>(std::clamp(copies[i], 0L, room)),
                 problems[i]);
    layer_text.push_back((copies[i] > 1 ? fmt::format("{}*", copies[i]) : "") +
                         link_text(problems[i]));
  }
  const auto links = static_cast<std::size_t>(length);
  while (chain.links.size() < links)
    chain.links.push_back(layer[chain.links.size() % layer.size()]);
  chain.label = fmt::format("chain.m{}.{}.x{}.{}", problems.front().m, fmt::join(layer_text, "+"),
                            length, types_text(problems.front()));
  return chain;
}

}  // namespace

std::vector<Chain> chains_of(std::span<const GemmProblem> problems, int length) {
  std::vector<std::vector<GemmProblem>> steps;
  for (const GemmProblem& problem : problems) {
    const auto step = std::ranges::find_if(steps, [&](const std::vector<GemmProblem>& known) {
      return in_one_step(known.front(), problem);
    });
    if (step != steps.end()) {
      step->push_back(problem);
    } else {
      steps.push_back({problem});
    }
  }
  std::vector<Chain> chains;
  for (const std::vector<GemmProblem>& step : steps) chains.push_back(chain_of(step, length));
  return chains;
}

bool feeds(const GemmProblem& link, const GemmProblem& next) {
  return link.d_type == next.a_type && link.m * link.d_columns() >= next.m * next.k;
}

std::vector<bool> fed_links(std::span<const GemmProblem> links) {
  constexpr int kMostGates = 4;
  std::vector<bool> fed;
  int gates = 0;  // since a link with a matrix of its own, or with a C
  for (std::size_t i = 0; i < links.size(); ++i) {
    const bool follows_gate = i > 0 && links[i - 1].is_gated();
    const bool is_fed =
        i > 0 && feeds(links[i - 1], links[i]) && gates + follows_gate <= kMostGates;
    gates = is_fed && !links[i].c_type ? gates + follows_gate : 0;
    fed.push_back(is_fed);
  }
  return fed;
}

std::vector<StudyPart> parts_of(std::span<const ChainLink> links) {
  std::vector<StudyPart> parts;
  for (int position = 0; const ChainLink& link : links) {
    parts.push_back({position, kPdlOff, link.problem, link.pdl_off});
    parts.push_back({position, kPdlOn, link.problem, link.pdl_on});
    ++position;
  }
  return parts;
}

std::vector<ChainLink> links_of(std::span<const StudyPart> parts) {
  std::vector<ChainLink> links;
  for (const StudyPart& part : parts) {
    links.resize(std::max(links.size(), static_cast<std::size_t>(part.position) + 1));
    ChainLink& link = links[static_cast<std::size_t>(part.position)];
    link.problem = part.problem;
    (part.variant == kPdlOn ? link.pdl_on : link.pdl_off) = part.label;
  }
  return links;
}

double weight_bytes(std::span<const ChainLink> links) {
  double bytes = 0;
  for (const ChainLink& link : links) {
    bytes += link.problem.b_bytes();
  }
  return bytes;
}

}  // namespace hgemm
