#include "search/devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/nearest.h"
#include "base/yaml.h"

namespace hgemm {
namespace {

/// Relative tolerance between peak / (SMs x tensor cores x clock) and a power of two. Stated peaks
/// are rounded, and the clock of the H20's peak is not published (its 240 at 1980 MHz stands for
/// 256).
constexpr double kPowerOfTwoTolerance = 0.1;

const std::vector<std::string> kDeviceKeys = {
    "name",        "gpu_names",         "sms",         "tensor_cores_per_sm",
    "boost_mhz",   "tensor_mhz",        "peak_tflops", "peak_fp8_tflops",
    "memory_tbps", "read_tbps",         "memory_gb",   "l2_mb",
    "power_w",     "smem_bytes_per_clk"};

double nearest_power_of_two(double value) { return std::exp2(std::round(std::log2(value))); }

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

constexpr const char* kFileHolds = "a map with `references:` and `devices:`";

class DevicesReader {
 public:
  explicit DevicesReader(YamlFile file) : file_(std::move(file)) {}

  std::vector<Device> read() {
    const YamlMap root = file_.map(file_.root(), "a devices file", {"references", "devices"});
    for (const YAML::Node& node : few(root, "references")) {
      const YamlMap map = file_.map(node, "a reference", {"id", "text"});
      references_.push_back(file_.text(map.at("id"), "id"));
      file_.text(map.at("text"), "text");  // required, for people who read the file
    }
    std::vector<Device> devices;
    for (const YAML::Node& node : few(root, "devices")) {
      devices.push_back(read_device(file_.map(node, "a device", kDeviceKeys)));
      const std::string& name = devices.back().name;
      if (std::ranges::count(devices, name, &Device::name) > 1)
        file_.fail(node.Mark(), fmt::format("a second device {}; expected each once; rename or "
                                            "remove one of them",
                                            name));
    }
    return devices;
  }

 private:
  std::vector<YAML::Node> few(const YamlMap& root, const std::string& key) const {
    constexpr std::size_t kMost = 100;
    const YAML::Node list = root.at(key);
    std::vector<YAML::Node> items = file_.items(list, key);
    if (items.size() > kMost)
      file_.fail(list.Mark(),
                 fmt::format("found {} {}; expected at most {}", items.size(), key, kMost));
    return items;
  }

  Device read_device(const YamlMap& map) const {
    Device device;
    device.name = file_.text(map.at("name"), "name");
    for (const YAML::Node& name : file_.items(map.at("gpu_names"), "gpu_names"))
      device.gpu_names.push_back(file_.text(name, "gpu_names"));
    device.sms = whole(map, "sms", 1, 1024);
    device.tensor_cores_per_sm = whole(map, "tensor_cores_per_sm", 1, 64);
    device.boost_mhz = figure(map, "boost_mhz", 100, 10'000);
    if (map.find("tensor_mhz")) device.tensor_mhz = figure(map, "tensor_mhz", 100, 10'000);
    device.peak_tflops = figure(map, "peak_tflops", 1, 1e6);
    device.peak_fp8_tflops = figure(map, "peak_fp8_tflops", 1, 1e6);
    device.memory_tbps = figure(map, "memory_tbps", 0.01, 1000);
    if (map.find("read_tbps")) device.read_tbps = figure(map, "read_tbps", 0.01, 1000);
    device.memory_gb = figure(map, "memory_gb", 1, 1e5);
    device.l2_mb = figure(map, "l2_mb", 1, 1e4);
    device.power_w = figure(map, "power_w", 1, 1e5);
    device.smem_bytes_per_clk = whole(map, "smem_bytes_per_clk", 1, 4096);
    check_rate(map, device, "peak_tflops", MmaInput::kBf16);
    check_rate(map, device, "peak_fp8_tflops", MmaInput::kFp8);
    return device;
  }

  void check_rate(const YamlMap& map, const Device& device, const std::string& key,
                  MmaInput input) const {
    const double derived = device.derived_flops_per_tensor_core_clk(input);
    const double rounded = nearest_power_of_two(derived);
    if (std::abs(derived / rounded - 1) <= kPowerOfTwoTolerance) return;
    file_.fail(map.at(key).Mark(),
               fmt::format("{} gives {:.1f} FLOP per tensor core and clock ({:g} TFLOP/s over {:g} "
                           "SMs x {:g} x {:g} MHz), which is not within 10 % of a power of two; "
                           "check the peak (dense?), the SMs and the clock",
                           key, derived, device.peak_flops(input) * 1e-12, device.sms.value,
                           device.tensor_cores_per_sm.value,
                           device.tensor_mhz.value_or(device.boost_mhz).value));
  }

  KnownFigure figure(const YamlMap& map, const std::string& key, double low, double high) const {
    const YAML::Node node = map.at(key);
    if (!node.IsSequence() || node.size() != 2)
      file_.fail(node.Mark(), fmt::format("found {} for {}; expected [value, source]; write where "
                                          "the figure comes from",
                                          describe(node), key));
    KnownFigure figure{file_.decimal(node[0], key, low, high),
                       file_.text(node[1], "the source of " + key)};
    const std::string id = figure.source.substr(0, figure.source.find_first_of(", ("));
    if (std::ranges::find(references_, id) == references_.end())
      file_.fail(
          node[1].Mark(),
          fmt::format("the source of {} begins with \"{}\", which is no reference; {}expected "
                      "one of {}; add it to references",
                      key, id, did_you_mean(id, references_), fmt::join(references_, ", ")));
    return figure;
  }

  KnownFigure whole(const YamlMap& map, const std::string& key, double low, double high) const {
    const KnownFigure result = figure(map, key, low, high);
    if (result.value != std::floor(result.value))
      file_.fail(
          map.at(key)[0].Mark(),
          fmt::format("found {:g} for {}; expected a whole number; correct it", result.value, key));
    return result;
  }

  YamlFile file_;
  std::vector<std::string> references_;
};

}  // namespace

MmaInput mma_input(const GemmProblem& problem) {
  if (problem.has_8_bit_operands()) return MmaInput::kFp8;
  return problem.a_type == DataType::kFp16 ? MmaInput::kFp16 : MmaInput::kBf16;
}

bool Device::is(std::string_view gpu_name) const {
  return std::ranges::find(gpu_names, gpu_name) != gpu_names.end();
}

const Device* find_device(std::span<const Device> devices, std::string_view gpu_name) {
  const auto device =
      std::ranges::find_if(devices, [&](const Device& known) { return known.is(gpu_name); });
  return device == devices.end() ? nullptr : &*device;
}

double Device::peak_flops(MmaInput input) const {
  return (input == MmaInput::kFp8 ? peak_fp8_tflops : peak_tflops).value * 1e12;
}

double Device::derived_flops_per_tensor_core_clk(MmaInput input) const {
  const double mhz = (tensor_mhz ? *tensor_mhz : boost_mhz).value;
  return peak_flops(input) / (sms.value * tensor_cores_per_sm.value * mhz * 1e6);
}

double Device::flops_per_tensor_core_clk(MmaInput input) const {
  return nearest_power_of_two(derived_flops_per_tensor_core_clk(input));
}

double Device::flops_per_sm_clk(MmaInput input) const {
  return flops_per_tensor_core_clk(input) * tensor_cores_per_sm.value;
}

double Device::model_mhz() const {
  return peak_flops(MmaInput::kBf16) / (sms.value * flops_per_sm_clk(MmaInput::kBf16)) * 1e-6;
}

double Device::ridge(MmaInput input) const { return peak_flops(input) * 1e-12 / memory_tbps.value; }

std::vector<Device> load_devices(const std::string& path) {
  return DevicesReader(YamlFile::read(path, kFileHolds)).read();
}

std::vector<Device> parse_devices(std::string_view text, const std::string& path) {
  return DevicesReader(YamlFile::parse(text, path, kFileHolds)).read();
}

std::vector<Device> choose_devices(const std::vector<Device>& devices,
                                   const std::string& argument) {
  if (lower(argument) == "all") return devices;
  std::vector<std::string> names;
  for (const Device& device : devices) {
    if (lower(device.name) == lower(argument)) return {device};
    names.push_back(device.name);
  }
  throw InputError(
      fmt::format("unknown device '{}'; {}expected all or one of {}; configs/devices.yaml "
                  "describes them, and takes more",
                  argument, did_you_mean(argument, names), fmt::join(names, ", ")));
}

}  // namespace hgemm
