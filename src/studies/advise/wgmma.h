// The latency model of wgmma.mma_async: cycles between two of a full pipe are the larger of what
// reading the operands from shared memory takes and what the tensor cores take. Where it holds and
// where it must fail: analysis/latency-model.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "record/study.h"
#include "search/devices.h"

namespace hgemm {

inline constexpr int kWgmmaRows = 64;
inline constexpr int kWgmmaStepN = 8;
inline constexpr int kWgmmaMaxN = 256;

/// m64nNk16 (k32 for fp8), for any N.
struct WgmmaForm {
  MmaInput input = MmaInput::kBf16;
  bool f16_accumulators = false;  ///< the rate is the same on Hopper (whitepaper, table 3)
  bool a_in_registers = false;    ///< "RS": only B is read from shared memory

  bool operator==(const WgmmaForm&) const = default;
};
/// Every form that there is a prediction for, shared memory ("SS") first.
std::span<const WgmmaForm> wgmma_forms();
std::string to_string(const WgmmaForm& form);  ///< "f32 <- bf16, A in shared memory"
int wgmma_depth(MmaInput input);               ///< 16, fp8: 32

struct WgmmaCycles {
  double read = 0;     ///< operands out of shared memory; A in registers: with its floor
  double compute = 0;  ///< tensor cores of the SM
  double cycles() const { return read > compute ? read : compute; }
};
WgmmaCycles wgmma_cycles(const Device& device, const WgmmaForm& form, int n);

/// The least N (a multiple of 8) at which computing takes no less than reading; none up to 256:
/// always bound by reading.
std::optional<int> compute_bound_from(const Device& device, const WgmmaForm& form);

/// What `hgemm-tune micro` measured: one warpgroup, random data, a full pipe.
struct MeasuredWgmma {
  WgmmaForm form;
  int n = 0;
  double cycles = 0;
  std::string gpu_name;
  std::string started_utc;
};
/// Those among the studies, of any GPU; of the same instruction on the same GPU the newest.
std::vector<MeasuredWgmma> measured_wgmma(std::span<const RecordedStudy> studies);

/// The measured one of this device, form and N; null if there is none.
const MeasuredWgmma* find_measured(std::span<const MeasuredWgmma> measured, const Device& device,
                                   const WgmmaForm& form, int n);

/// The least N from which on every measured N takes within 5 % of what computing takes.
std::optional<int> measured_compute_bound_from(std::span<const MeasuredWgmma> measured,
                                               const Device& device, const WgmmaForm& form);

}  // namespace hgemm
