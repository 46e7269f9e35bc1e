// A kernel's cycles by phase, as text for people and for programs.
#pragma once

#include <span>
#include <string>

#include "output/emit.h"
#include "record/study.h"

namespace hgemm {

/// Table and md: a block for each study that ended ok. It has the config, shape and GPU; a row per
/// role and phase with its mean per k block, per tile and per CTA, and its share of the role's
/// time; then the summary that compares with the three figures of a kernel without roles (load,
/// MMA, store), the sum of a consumer's phases against its whole time, when SMs start and finish,
/// and the cost of the stamps. A study that did not end ok has its cause instead.
/// studies/probe/launch.h defines the figures.
///
/// json: a list of objects with m n k dtype label gpu started_utc status message figures; each
/// figure has role phase unit count cycles mean share. csv: a row per figure with all of these
/// columns without message.
///
/// Figures are ordered by role (producer, consumer, ..., kernel), and within a role by time,
/// `total` last, whatever their order in `studies`.
std::string format_probe(std::span<const RecordedStudy> studies, const Style& style);

}  // namespace hgemm
