#include "program/devices.h"

#include "base/resources.h"

namespace hgemm::cli {

std::vector<Device> known_devices() {
  return load_devices((resource_dir() / "configs" / "devices.yaml").string());
}

}  // namespace hgemm::cli
