#include "results/without_pdl.h"

#include <algorithm>

#include "base/error.h"

namespace hgemm {
namespace {

/// The ratio to the faster one of the two libraries.
std::optional<double> over_best_library(const std::optional<Ratio>& cublas,
                                        const std::optional<Ratio>& cublaslt) {
  if (cublas && cublaslt) return std::min(cublas->value, cublaslt->value);
  if (cublas) return cublas->value;
  return cublaslt ? std::optional(cublaslt->value) : std::nullopt;
}

bool leads(const BestRow& row) {
  const auto ratio = over_best_library(row.cublas, row.cublaslt);
  return row.label && ratio && *ratio > 1;
}

std::optional<double> over_best_library_without_pdl(const BestRow& row) {
  if (!row.without_pdl) return std::nullopt;
  return over_best_library(row.without_pdl->cublas, row.without_pdl->cublaslt);
}

}  // namespace

std::optional<PdlKind> find_pdl_kind(const std::string& label) {
  try {
    return pdl_kind(parse_label(label));
  } catch (const InputError&) {
    return std::nullopt;  // of a version that is not known
  }
}

bool has_other_without_pdl(const BestRow& row) {
  return row.label && row.without_pdl && row.without_pdl->label != *row.label;
}

bool is_lead_by_pdl(const BestRow& row) {
  if (!has_other_without_pdl(row) || !leads(row)) return false;
  const auto without = over_best_library_without_pdl(row);
  return without && *without < 1;
}

bool is_lead_of_unknown_kind(const BestRow& row) {
  if (!leads(row) || over_best_library_without_pdl(row)) return false;
  const auto kind = find_pdl_kind(*row.label);
  return kind && *kind != PdlKind::kOff;
}

LeadsByPdl count_leads_by_pdl(std::span<const BestRow* const> rows) {
  LeadsByPdl count;
  for (const BestRow* row : rows) {
    if (row->label) ++count.rows;
    if (is_lead_of_unknown_kind(*row)) ++count.unknown;
    if (!is_lead_by_pdl(*row)) continue;
    ++count.by_pdl;
    if (row->without_pdl->stage == Stage::kScreen) ++count.screened;
  }
  return count;
}

}  // namespace hgemm
