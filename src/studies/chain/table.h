// Chains as text: the same GEMMs in a row, by our kernels without and with PDL, and by cuBLAS.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "output/emit.h"
#include "output/rounds.h"
#include "record/study.h"
#include "search/devices.h"
#include "studies/chain/chain.h"

namespace hgemm {

/// Times of one way to compute a chain.
struct ChainTiming {
  std::string kernels;                ///< "pdl_off", "pdl_on", "cublas"
  std::optional<double> time_us;      ///< median for the whole chain; none if it was not timed
  std::optional<RoundsRatio> cublas;  ///< cublas' time over this time; none for cublas itself
  std::optional<RoundsRatio> pdl;     ///< for pdl_on: time without PDL over time with PDL
};

/// A chain in one environment.
struct ChainRow {
  RecordedStudy recorded;
  std::vector<ChainLink> links;
  double weight_bytes = 0;
  /// The weights exceed 3x L2, so none of them is found there.
  bool cold = false;
  std::optional<KnownFigure> read_tbps;  ///< highest measured rate of reading memory on this GPU
  std::vector<ChainTiming> timings;

  /// Rate at which the weights are read.
  std::optional<double> tbps(const ChainTiming& timing) const;
  std::optional<double> of_ceiling(const ChainTiming& timing) const;  ///< that rate over read_tbps
};

/// A row for each study, in their order. `devices` gives read_tbps.
std::vector<ChainRow> chain_rows(std::span<const RecordedStudy> studies,
                                 std::span<const Device> devices);

/// json: a list of objects, one for each chain and way to compute it, with chain m length
/// weight_bytes cold kernels status message time_us weight_tbps read_tbps of_read ratio_cublas
/// ratio_cublas_low ratio_cublas_high pdl_gain pdl_gain_low pdl_gain_high rounds gpu started_utc
/// links (a list of n k label); null if not known. csv: the same columns without links. table and
/// md: a block for each environment, under a line that names it.
std::string format_chain(std::span<const ChainRow> rows, const Style& style);

}  // namespace hgemm
