// What is known of a GPU without measuring it: configs/devices.yaml, every figure with its source,
// and what follows from them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hgemm {

/// What the tensor cores multiply. The rate of the 16-bit types is the same.
enum class MmaInput : unsigned char { kBf16, kFp16, kFp8 };

struct KnownFigure {
  double value = 0;
  std::string source;  ///< "whitepaper, table 3"
};

struct Device {
  std::string name;                    ///< "H100-SXM"
  std::vector<std::string> gpu_names;  ///< as the driver says them
  KnownFigure sms;
  KnownFigure tensor_cores_per_sm;
  KnownFigure boost_mhz;
  std::optional<KnownFigure>
      tensor_mhz;               ///< the clock of the stated peaks, where the vendor says it
  KnownFigure peak_tflops;      ///< dense, bf16 and fp16, fp32 accumulation
  KnownFigure peak_fp8_tflops;  ///< dense
  KnownFigure memory_tbps;
  std::optional<KnownFigure> read_tbps;  ///< what reading memory was measured to reach
  KnownFigure memory_gb;
  KnownFigure l2_mb;    ///< MiB
  KnownFigure power_w;  ///< the limit that the card is sold with
  KnownFigure smem_bytes_per_clk;

  bool is(std::string_view gpu_name) const;

  double peak_flops(MmaInput input) const;  ///< per second
  /// peak / (SMs x tensor cores x clock), the whitepaper's formula turned round: what it gives, and
  /// the power of two that is nearest. Hardware has a power of two; what is between them is the
  /// rounding of the stated peak, or (H20) a clock that nobody states.
  double derived_flops_per_tensor_core_clk(MmaInput input) const;
  double flops_per_tensor_core_clk(MmaInput input) const;
  double flops_per_sm_clk(MmaInput input) const;
  /// The clock at which the rounded rate gives the stated peak: what turns cycles into time here.
  double model_mhz() const;
  /// FLOP per byte above which the tensor cores and not memory are the bound.
  double ridge() const;
};

/// The devices of a file, in its order; at least one. Throws InputError with file:line:column: for
/// unknown or missing keys, for figures without a known source, and where the peak is not within 10
/// % of a power of two per tensor core and clock.
std::vector<Device> load_devices(const std::string& path);
/// The same of a file's text; `path` is for messages.
std::vector<Device> parse_devices(std::string_view text, const std::string& path);

/// The one that the driver calls so; null if it is not among them.
const Device* find_device(std::span<const Device> devices, std::string_view gpu_name);

/// Those that `argument` names: "all", or a name ("h200" too). Throws InputError that names them.
std::vector<Device> choose_devices(const std::vector<Device>& devices, const std::string& argument);

}  // namespace hgemm
