// The latency model of wgmma.mma_async. The cycles between two instructions of a full pipe are the
// larger of two times: reading the operands from shared memory, and the tensor cores' time.
// analysis/latency-model.md says where the model holds and where it must fail.
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

/// A form of m64nNk16 (fp8: k32), for any N.
struct WgmmaForm {
  MmaInput input = MmaInput::kBf16;
  bool f16_accumulators = false;  ///< the rate is the same on Hopper (whitepaper, table 3)
  bool a_in_registers = false;    ///< "RS": only B is read from shared memory

  bool operator==(const WgmmaForm&) const = default;
};
/// Every form that has a prediction; A in shared memory ("SS") first.
std::span<const WgmmaForm> wgmma_forms();
std::string to_string(const WgmmaForm& form);  ///< "f32 <- bf16, A in shared memory"
int wgmma_depth(MmaInput input);               ///< K of one instruction: 16, for fp8 32

struct WgmmaCycles {
  /// Reading operands from shared memory; with A in registers at least the floor.
  double read = 0;
  double compute = 0;  ///< time of the SM's tensor cores
  double cycles() const { return read > compute ? read : compute; }
};
WgmmaCycles wgmma_cycles(const Device& device, const WgmmaForm& form, int n);

/// The least N (a multiple of 8) at which computing takes at least as long as reading; none if
/// reading takes longer for every N up to 256.
std::optional<int> compute_bound_from(const Device& device, const WgmmaForm& form);

/// A result of `hgemm-tune micro`: one warpgroup, random data, a full pipe.
struct MeasuredWgmma {
  WgmmaForm form;
  int n = 0;
  double cycles = 0;
  std::string gpu_name;
  std::string started_utc;
};
/// The results among the studies, of any GPU; only the newest for the same instruction on the same
/// GPU.
std::vector<MeasuredWgmma> measured_wgmma(std::span<const RecordedStudy> studies);

/// The result for this device, form and N; nullptr if there is none.
const MeasuredWgmma* find_measured(std::span<const MeasuredWgmma> measured, const Device& device,
                                   const WgmmaForm& form, int n);

/// The least N from which on every measured time is within 5 % of the tensor cores' time.
std::optional<int> measured_compute_bound_from(std::span<const MeasuredWgmma> measured,
                                               const Device& device, const WgmmaForm& form);

}  // namespace hgemm
