// Leads by PDL: where a row's config is ahead of the libraries only because it uses PDL.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "families/family.h"
#include "results/best.h"

namespace hgemm {

/// nullopt: no family of this program reads the label.
std::optional<PdlKind> find_pdl_kind(const std::string& label);

/// Whether the winner uses PDL, and a config without PDL is known beside it.
bool has_other_without_pdl(const BestRow& row);

/// The row leads the best library (the faster one of cublas and cuBLASLt's best) only with PDL: the
/// best config without PDL is behind that library. By the medians of the ratios, as fastest_of().
bool is_lead_by_pdl(const BestRow& row);

/// The row leads the best library with PDL, and no config without PDL has a ratio.
bool is_lead_of_unknown_kind(const BestRow& row);

struct LeadsByPdl {
  int rows = 0;      ///< with a label
  int by_pdl = 0;    ///< is_lead_by_pdl()
  int screened = 0;  ///< those of by_pdl whose config without PDL was only screened
  int unknown = 0;   ///< is_lead_of_unknown_kind()
};
LeadsByPdl count_leads_by_pdl(std::span<const BestRow* const> rows);

}  // namespace hgemm
