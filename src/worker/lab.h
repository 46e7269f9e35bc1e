// Carries out studies on a GPU. The interface lets the commands be tested without a GPU; the real
// implementation is in worker/remote.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compile/cubin.h"
#include "compile/study_source.h"
#include "record/environment.h"
#include "record/study.h"

namespace hgemm {

/// One subject of a study.
struct StudyRequest {
  std::string kind;  ///< name of a study in the registry (studies/registry.h)
  std::string label;
  std::optional<GemmProblem> problem;
  /// Compiled; each label once; empty if no code of this program runs.
  std::vector<StudySource> sources = {};
  std::vector<StudyPart> parts = {};  ///< if it has several problems
  std::uint64_t seed = 1;             ///< seed of the input data
  bool timeline = false;              ///< keep spans, if the study has any

  /// Upper bound of the floating-point operations of one launch of everything in the request; 0 if
  /// no problem tells it.
  double flops() const;
};

/// The compiled sources of a request, by their labels.
using Cubins = std::map<std::string, Cubin>;

/// Every call may throw MeasurerLost (device/measurer.h), or Error if the GPU cannot be used.
class Lab {
 public:
  virtual ~Lab() = default;
  virtual Machine machine() = 0;
  /// Carries out a study. A failure of the study itself is returned as a status and a message, not
  /// thrown. Throws InputError for causes that are not its fault and would affect other studies
  /// too, such as a missing permission.
  virtual Study run(const StudyRequest& request, const Cubins& cubins) = 0;
};

}  // namespace hgemm
