#include "output/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "gemm/codec.h"
#include "output/table.h"

namespace hgemm {
namespace {

std::string range(const std::string& low, const std::string& high) {
  return low == high ? low : fmt::format("{} to {}", low, high);
}

std::string number_text(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "-";
}

/// For which other problems a row answers.
std::string for_others(const Bundle& bundle, const BundleRow& row) {
  if (row.general_kernel == BundleRow::kNone) return "no";
  if (row.general_kernel == row.kernel) return "same";
  return bundle.kernels[static_cast<std::size_t>(row.general_kernel)].label;
}

}  // namespace

std::string format_bundle(const Bundle& bundle, const Style& style) {
  const Validity& v = bundle.validity;
  std::size_t bytes = 0;
  for (const BundleKernel& kernel : bundle.kernels) bytes += kernel.cubin.size();
  std::vector<Piece> pieces;
  pieces.push_back(fmt::format(
      "{}, compute capability {}.{}, {} SMs; driver {}; CUDA {}; kernels compiled by NVRTC {}, "
      "exported by hgemm-tune {}\n",
      v.gpu_name, v.compute_major, v.compute_minor, v.sm_count, range(v.driver_min, v.driver_max),
      range(v.cuda_min, v.cuda_max), bundle.compiler, v.revision));
  if (bundle.batch_invariant) {
    pieces.emplace_back("Batch-invariant: the bits of a row of D do not depend on M\n");
  }
  Table table;
  table.columns = {{"shape", false, Table::Fit::kWrapped, 0},
                   {"config", false, Table::Fit::kBelow, 1},
                   {"time us"},
                   {"x cuBLAS"},
                   {"gain", false},
                   {"other shapes", false, Table::Fit::kBelow, Table::kOptional}};
  for (const BundleRow& row : bundle.rows) {
    const std::string config = row.kernel == BundleRow::kNone
                                   ? std::string("-")
                                   : bundle.kernels[static_cast<std::size_t>(row.kernel)].label;
    table.rows.push_back({to_string(row.problem), config, number_text(row.time_us, 2),
                          number_text(row.ratio, 3), row.gain ? "yes" : "no",
                          for_others(bundle, row)});
  }
  pieces.push_back(render(table, style));
  const auto gains = std::ranges::count(bundle.rows, true, &BundleRow::gain);
  pieces.push_back(fmt::format(
      "{} shapes, {} of them faster than cuBLAS beyond doubt; {} kernels, {:.1f} MB\n",
      bundle.rows.size(), gains, bundle.kernels.size(), static_cast<double>(bytes) / 1e6));
  return joined(pieces, style);
}

}  // namespace hgemm
