#include "program/gpus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <ranges>

#include "base/error.h"
#include "base/text.h"

namespace hgemm::cli {
namespace {

std::string listed(std::span<const VisibleGpu> gpus) {
  std::vector<std::string> lines;
  for (const VisibleGpu& gpu : gpus) {
    lines.push_back(fmt::format("{} = {} ({})", gpu.index, gpu.uuid, gpu.name));
  }
  return fmt::format("{}", fmt::join(lines, ", "));
}

std::optional<int> index_in(const std::string& text) {
  int index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return index;
}

const VisibleGpu& named(std::span<const VisibleGpu> gpus, const std::string& name) {
  const std::optional<int> index = index_in(name);
  const VisibleGpu* found = nullptr;
  for (const VisibleGpu& gpu : gpus) {
    if (index ? gpu.index != *index : name.empty() || !gpu.uuid.starts_with(name)) continue;
    if (found) {
      throw InputError(fmt::format("--devices {}: several GPUs begin so; there are {}",
                                   printable(name), listed(gpus)));
    }
    found = &gpu;
  }
  if (!found) {
    throw InputError(fmt::format("--devices: there is no GPU \"{}\"; there are {}", printable(name),
                                 listed(gpus)));
  }
  if (!found->why_unusable.empty()) {
    throw InputError(fmt::format("--devices {}: {}", printable(name), found->why_unusable));
  }
  return *found;
}

}  // namespace

std::vector<VisibleGpu> choose_gpus(std::span<const VisibleGpu> gpus, const std::string& argument) {
  std::vector<VisibleGpu> usable;
  for (const VisibleGpu& gpu : gpus) {
    if (gpu.why_unusable.empty()) usable.push_back(gpu);
  }
  if (usable.empty()) {
    throw NoDevice(gpus.empty() ? "the NVIDIA driver finds no GPU" : gpus.front().why_unusable);
  }
  if (argument == "all") return usable;
  if (argument.empty()) {
    const auto idle = std::ranges::find(usable, false, &VisibleGpu::busy);
    return {idle == usable.end() ? usable.front() : *idle};
  }
  std::vector<VisibleGpu> chosen;
  for (const auto part : std::views::split(argument, ',')) {
    const VisibleGpu& gpu = named(gpus, std::string(part.begin(), part.end()));
    if (std::ranges::find(chosen, gpu.uuid, &VisibleGpu::uuid) != chosen.end()) {
      throw InputError(
          fmt::format("--devices {}: GPU {} is named twice", printable(argument), gpu.index));
    }
    chosen.push_back(gpu);
  }
  return chosen;
}

}  // namespace hgemm::cli
