// Replays as text: how near each search came, and with how much measuring.
#pragma once

#include <span>
#include <string>

#include "emit/emit.h"
#include "replay/portfolio.h"
#include "replay/replay.h"

namespace hgemm {

/// json: a list of objects m n k dtype layout lda ldb ldd regime gpu strategy configs measured
/// measured_fraction best_fraction worst_fraction found best. csv: the same columns. table and md:
/// a row each, then for each strategy the geomean and the least.
std::string format_replay(std::span<const ReplayRow> rows, Format format);

/// json: an object with kernels, geomean, least, shapes (a list of objects m n k dtype layout lda
/// ldb ldd regime label best_fraction) and uncovered. csv: the shapes.
std::string format_portfolio(const Portfolio& portfolio, Format format);

}  // namespace hgemm
