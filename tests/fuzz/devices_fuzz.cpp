// YAML files of devices: every figure that follows from one is a number.
#include <cmath>

#include "search/devices.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hgemm;
  static const fuzz::Scratch scratch("devices");
  const std::string path = scratch.write("input.yaml", fuzz::text_of(data, size));
  fuzz::accepts([&] {
    for (const Device& device : load_devices(path)) {
      for (const MmaInput input : {MmaInput::kBf16, MmaInput::kFp8}) {
        const double ridge = device.ridge(input);
        fuzz::require(std::isfinite(ridge) && ridge > 0, "a device has a ridge");
      }
      fuzz::require(device.model_mhz() > 0, "a device has a clock");
    }
  });
  return 0;
}
