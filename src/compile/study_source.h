// The source of a study kernel.
#pragma once

#include <string>

namespace hgemm {

/// A translation unit of a study kernel. It may include every file in kernels/, by its path below
/// kernels/: "common/ptx.cuh", "studies/micro/x.cuh".
struct StudySource {
  std::string label;
  std::string text;
};

}  // namespace hgemm
