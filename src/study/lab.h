// Who carries out studies. The interface keeps the commands testable without a GPU; the real one is
// worker/remote.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "study/study.h"

namespace hgemm {

/// What is to be found out.
struct StudyRequest {
  StudyKind kind = StudyKind::kMicro;
  std::string label;
  std::optional<Shape> shape;
  std::string source;      ///< translation unit that is compiled for it; empty: nothing of ours
  std::uint64_t seed = 1;  ///< of the inputs
  bool timeline = false;   ///< of a probe: keep its spans
};

/// Every call may throw MeasurerLost (measure/measurer.h); Error where the GPU cannot be used.
class Lab {
 public:
  virtual ~Lab() = default;
  virtual Environment environment() = 0;
  /// `cubin` is the request's compiled source; empty if it has none. What fails in the study itself
  /// is a status and a message, not an exception. Throws InputError for what is not its fault and
  /// would meet others too, such as a missing permission.
  virtual Study run(const StudyRequest& request, const std::filesystem::path& cubin) = 0;
};

}  // namespace hgemm
