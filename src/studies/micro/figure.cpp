#include "studies/micro/figure.h"

#include "studies/advise/wgmma.h"

namespace hgemm {

Json wgmma_section(const report::Known& known) {
  report::Source source;
  Json points = Json::array();
  for (const RecordedStudy& recorded : known.studies) {
    for (const MeasuredWgmma& measured : measured_wgmma({&recorded, 1})) {
      const WgmmaForm& form = measured.form;
      if (form.input != MmaInput::kBf16 || form.f16_accumulators) continue;
      source.add(recorded);
      points.push_back({{"n", measured.n},
                        {"cycles", measured.cycles},
                        {"a_in_registers", form.a_in_registers}});
    }
  }
  if (points.empty()) {
    return report::missing("The cycles of wgmma were not measured.",
                           "hgemm-tune micro --only wgmma");
  }
  Json devices = Json::array();
  for (const Device& device : known.devices) {
    const bool here = &device == known.device;
    if (!here && device.name != "H800" && device.name != "H20") continue;
    Json n_values = Json::array(), read = Json::array(), compute = Json::array();
    for (int n = kWgmmaStepN; n <= kWgmmaMaxN; n += kWgmmaStepN) {
      const WgmmaCycles cycles = wgmma_cycles(device, {}, n);
      n_values.push_back(n);
      read.push_back(cycles.read);
      compute.push_back(cycles.compute);
    }
    const auto threshold = compute_bound_from(device, {});
    devices.push_back({{"name", device.name},
                       {"this_gpu", here},
                       {"threshold", threshold ? Json(*threshold) : Json()},
                       {"n", n_values},
                       {"read", read},
                       {"compute", compute}});
  }
  return {{"source", source.json()}, {"devices", devices}, {"measured", points}};
}

}  // namespace hgemm
