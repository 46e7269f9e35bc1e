// Replays as text: how near each search came to the best, and how much it measured.
#pragma once

#include <span>
#include <string>

#include "output/emit.h"
#include "results/portfolio.h"
#include "results/replay.h"

namespace hgemm {

/// json: a list of objects m n k dtype layout lda ldb ldd data regime gpu strategy configs measured
/// measured_fraction best_fraction worst_fraction found best. csv: the same columns. table and md:
/// one row for each, then the geomean and the least for each strategy.
std::string format_replay(std::span<const ReplayRow> rows, const Style& style);

/// json: an object with kernels, geomean, least, shapes (a list of objects m n k dtype layout lda
/// ldb ldd data regime label best_fraction) and uncovered. csv: the shapes.
std::string format_portfolio(const Portfolio& portfolio, const Style& style);

}  // namespace hgemm
