// Quantising as text: GEMMs with 8-bit operands alone, and after quantising their activations.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "output/emit.h"
#include "output/rounds.h"
#include "record/study.h"
#include "search/devices.h"

namespace hgemm {

/// A problem in one environment. Times are medians; none if the study is not ok.
struct QuantiseRow {
  RecordedStudy recorded;
  GemmProblem problem;
  std::optional<double> gemm_us, gemm_after_us;      ///< ours, and after quantising A
  std::optional<double> cublas_us, cublas_after_us;  ///< the library's, likewise
  std::optional<double> quantise_us;                 ///< quantising alone
  std::optional<RoundsRatio> alone, after;           ///< the library's time over ours
  std::optional<KnownFigure> read_tbps;  ///< highest measured rate of reading memory on this GPU

  /// Rate at which quantising alone reads the activations and writes A and its scales.
  std::optional<double> tbps() const;
};

/// A row for each study, in their order. `devices` gives read_tbps.
std::vector<QuantiseRow> quantise_rows(std::span<const RecordedStudy> studies,
                                       std::span<const Device> devices);

/// json: a list of objects, one for each problem, with problem label status message gemm_us
/// gemm_quantised_us cublas_us cublas_quantised_us quantise_us quantise_tbps read_tbps ratio_cublas
/// ratio_quantised (each with _low and _high) rounds gpu started_utc; null if not known. csv: the
/// same columns. table and md: a block for each environment, under a line that names it.
std::string format_quantise(std::span<const QuantiseRow> rows, const Style& style);

}  // namespace hgemm
