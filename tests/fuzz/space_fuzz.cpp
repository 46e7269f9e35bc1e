// YAML files of search spaces. The input may include itself, as "input".
#include "search/space.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hgemm;
  static const fuzz::Scratch scratch("space");
  const std::string path = scratch.write("input.yaml", fuzz::text_of(data, size));
  fuzz::accepts([&] {
    Space space = load_space(path, scratch.folder());
    constexpr double kFewPoints = 2000;  // more are the same, and slow
    double points = 0;
    for (const Grid& grid : space.grids) {
      double of_grid = 1;
      for (const auto& values : grid.values) of_grid *= static_cast<double>(values.size());
      fuzz::require(of_grid > 0, "every axis has a value");
      points += of_grid;
    }
    if (points > kFewPoints) return;
    const Enumeration found = enumerate(space);
    for (const KernelConfig& config : found.valid) {
      fuzz::require(parse_label(label(config)) == config, "an enumerated config has a label");
    }
  });
  return 0;
}
