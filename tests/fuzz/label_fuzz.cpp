// Labels of configs: parse_label() and label() are inverse, and what reads a config can read any
// that a label gives.
#include "families/family.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hgemm;
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::accepts([&] {
    const KernelConfig config = parse_label(text);
    const std::string written = label(config);
    fuzz::require(parse_label(written) == config, "parse_label(label(config)) == config");
    fuzz::require(label(parse_label(written)) == written, "label(parse_label(label)) == label");
    if (!why_invalid(config)) {
      fuzz::require(config_distance(config, config) == 0, "a config is like itself");
      for (const std::int64_t extent : {std::int64_t{64}, std::int64_t{4096}}) {
        const GemmProblem problem{.m = extent, .n = extent, .k = extent, .tag = {}};
        if (why_not(config, problem) == nullptr) {
          fuzz::require(!kernel_name(kernel_for(config, problem)).empty(), "a kernel has a name");
        }
      }
    }
  });
  return 0;
}
