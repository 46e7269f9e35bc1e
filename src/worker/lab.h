// Carries out studies on a GPU. The interface keeps the commands testable without one; the real one
// is worker/remote.h.
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

/// What is to be found out.
struct StudyRequest {
  std::string kind;  ///< name of a study in the registry (studies/registry.h)
  std::string label;
  std::optional<GemmProblem> problem;
  std::vector<StudySource> sources = {};  ///< compiled, each label once; none: nothing of ours
  std::vector<StudyPart> parts = {};      ///< if it is of several problems
  std::uint64_t seed = 1;                 ///< of the inputs
  bool timeline = false;                  ///< keep spans, if the study has any

  /// Of one launch of all that it is about: an upper bound; 0 where no problem says it.
  double flops() const;
};

/// The compiled sources of a request, by their labels.
using Cubins = std::map<std::string, Cubin>;

/// Every call may throw MeasurerLost (device/measurer.h); Error where the GPU cannot be used.
class Lab {
 public:
  virtual ~Lab() = default;
  virtual Machine machine() = 0;
  /// What fails in the study itself is a status and a message, not an exception. Throws InputError
  /// for what is not its fault and would meet others too, such as a missing permission.
  virtual Study run(const StudyRequest& request, const Cubins& cubins) = 0;
};

}  // namespace hgemm
