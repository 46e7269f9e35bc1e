// Where a kernel's cycles went, as text for people and for programs.
#pragma once

#include <span>
#include <string>

#include "output/emit.h"
#include "record/study.h"

namespace hgemm {

/// table and md: of each study that ended ok a block: the config, shape and GPU; a row per role and
/// phase with its mean per k block, per tile and per CTA, and its share of the role's time; then
/// the summary that the three figures of a kernel without roles compare with (load, MMA, store),
/// the sum of a consumer's phases against its whole time, when SMs start and finish, and what the
/// stamps cost. One that did not end ok says why. studies/probe/launch.h says what the figures are.
///
/// json: a list of objects with m n k dtype label gpu started_utc status message figures, each
/// figure with role phase unit count cycles mean share. csv: a row per figure with all of them but
/// message.
///
/// Figures come by role (producer, consumer, ..., kernel) and within it as the phases happen,
/// `total` last, whatever their order in `studies`.
std::string format_probe(std::span<const RecordedStudy> studies, Format format);

}  // namespace hgemm
