// Data of GPUs known without measuring: configs/devices.yaml, with a source for every figure, and
// what follows from the figures.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/problem.h"

namespace hgemm {

/// Input type of the tensor cores. Both 16-bit types have the same rate, and both 8-bit types.
enum class MmaInput : unsigned char { kBf16, kFp16, kFp8 };
MmaInput mma_input(const GemmProblem& problem);

struct KnownFigure {
  double value = 0;
  std::string source;  ///< "whitepaper, table 3"
};

struct Device {
  std::string name;                    ///< "H100-SXM"
  std::vector<std::string> gpu_names;  ///< as the driver reports them
  KnownFigure sms;
  KnownFigure tensor_cores_per_sm;
  KnownFigure boost_mhz;
  std::optional<KnownFigure>
      tensor_mhz;               ///< the clock of the stated peaks, if the vendor publishes it
  KnownFigure peak_tflops;      ///< dense, bf16 and fp16, fp32 accumulation
  KnownFigure peak_fp8_tflops;  ///< dense
  KnownFigure memory_tbps;
  std::optional<KnownFigure> read_tbps;  ///< highest measured rate of reading memory
  KnownFigure memory_gb;
  KnownFigure l2_mb;    ///< MiB
  KnownFigure power_w;  ///< default power limit of the card
  KnownFigure smem_bytes_per_clk;

  bool is(std::string_view gpu_name) const;

  double peak_flops(MmaInput input) const;  ///< FLOP per second
  /// peak / (SMs x tensor cores x clock), the whitepaper's formula solved for the rate: first the
  /// exact quotient, then the nearest power of two. Hardware has a power of two; the difference
  /// comes from the rounding of the stated peak, or (H20) from an unpublished clock.
  double derived_flops_per_tensor_core_clk(MmaInput input) const;
  double flops_per_tensor_core_clk(MmaInput input) const;
  double flops_per_sm_clk(MmaInput input) const;
  /// The clock in MHz at which the rounded rate gives the stated peak; it converts cycles to time.
  double model_mhz() const;
  /// FLOP per byte above which the tensor cores, and not memory, are the limit.
  double ridge(MmaInput input) const;
};

/// The devices of a file, in its order; at least one. Throws InputError with file:line:column for
/// unknown or missing keys, for figures without a known source, and if a peak is not within 10 % of
/// a power of two per tensor core and clock.
std::vector<Device> load_devices(const std::string& path);
/// The same for a file's text; `path` is for messages.
std::vector<Device> parse_devices(std::string_view text, const std::string& path);

/// The device with this driver name; nullptr if there is none.
const Device* find_device(std::span<const Device> devices, std::string_view gpu_name);

/// The devices that `argument` names: "all", or a name (case does not matter: "h200"). Throws
/// InputError that lists the names.
std::vector<Device> choose_devices(const std::vector<Device>& devices, const std::string& argument);

}  // namespace hgemm
