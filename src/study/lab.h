// Who carries out studies. The interface keeps the commands testable without a GPU; the real one is
// worker/remote.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "study/source.h"
#include "study/study.h"

namespace hgemm {

/// What is to be found out.
struct StudyRequest {
  StudyKind kind = StudyKind::kMicro;
  std::string label;
  std::optional<Shape> shape;
  std::vector<StudySource> sources = {};  ///< compiled, each label once; none: nothing of ours
  std::vector<ChainLink> links = {};      ///< of a chain; their labels are those of sources
  std::uint64_t seed = 1;                 ///< of the inputs
  bool timeline = false;                  ///< of a probe: keep its spans

  double flops() const;  ///< of one launch of all that it is about; 0 where no shape says it
};

/// The compiled sources of a request, by their labels.
using Cubins = std::map<std::string, std::filesystem::path>;

/// Every call may throw MeasurerLost (measure/measurer.h); Error where the GPU cannot be used.
class Lab {
 public:
  virtual ~Lab() = default;
  virtual Environment environment() = 0;
  /// What fails in the study itself is a status and a message, not an exception. Throws InputError
  /// for what is not its fault and would meet others too, such as a missing permission.
  virtual Study run(const StudyRequest& request, const Cubins& cubins) = 0;
};

}  // namespace hgemm
