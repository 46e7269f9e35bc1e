// The latency model and its advice as text: for people (table, markdown) and for programs (json,
// csv; stable formats).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "output/emit.h"
#include "results/best.h"
#include "studies/advise/advice.h"

namespace hgemm {

struct AdvisedShape {
  Advice advice;
  /// On a GPU with that name; none: never recorded.
  std::optional<BestRow> measured;
  std::optional<MeasuredSwap> swap = std::nullopt;  ///< the same
};
struct DeviceAdvice {
  Device device;
  std::vector<AdvisedShape> problems;
};

/// json: a list of objects with device m n k dtype tag bound intensity ridge memory_us compute_us
/// floor_us fits_l2 fits_memory swap_ab swap_speedup as_is_n as_is_us swapped_n swapped_us swap_why
/// kernel tile waves wave_efficiency whole_us split_us kernel_why, and also measured_gpu
/// measured_date regime label time_us floor_fraction cublas_time_us cublas_floor_fraction
/// swap_measured swap_measured_label as_is_measured_label, which are null if nothing was measured.
/// csv: the same columns.
///
/// table and md: a block for each device, with a line of its figures and a line per shape. Below
/// are one sentence about the kernel (with the fastest measured config) and one about swap-AB (with
/// its measured gain and the configs).
std::string format_advice(std::span<const DeviceAdvice> devices, const Style& style);

/// json: a list of objects with device n k form read_cycles compute_cycles predicted_cycles bound
/// measured_cycles error measured_gpu, for every device, form and N; null if nothing was measured.
/// csv: the same columns.
///
/// table and md: for each device a table of the forms that were measured on it (if there are none,
/// of f32 <- bf16 from shared memory), with the N from which computing is the limit, and the
/// largest error.
std::string format_wgmma(std::span<const Device> devices, std::span<const MeasuredWgmma> measured,
                         const Style& style);

/// The figures of each device, the values derived from them, and their sources.
/// json: a list of objects with device gpu_names sms tensor_cores_per_sm boost_mhz tensor_mhz
/// peak_tflops peak_fp8_tflops memory_tbps read_tbps memory_gb l2_mb power_w smem_bytes_per_clk
/// derived_flops_per_tc_clk flops_per_tc_clk ridge fp8_ridge compute_bound_from_n and sources (csv:
/// without sources).
std::string format_devices(std::span<const Device> devices, const Style& style);

}  // namespace hgemm
