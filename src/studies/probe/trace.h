// A timeline as a trace for Perfetto (ui.perfetto.dev) or chrome://tracing.
#pragma once

#include <span>
#include <string>

#include "record/study.h"

namespace hgemm {

/// JSON in the Trace Event Format: a process per SM, a thread per role, a complete event per span,
/// with times in microseconds and its tile and CTA as arguments. CTAs that share an SM at the same
/// time have separate threads. `title` becomes part of the trace's metadata.
std::string chrome_trace(std::span<const Span> spans, const std::string& title);

}  // namespace hgemm
