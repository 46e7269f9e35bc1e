// What is compiled for a study.
#pragma once

#include <string>

namespace hgemm {

/// A translation unit of a study kernel. It may include every file in kernels/, kernels/micro/ and
/// kernels/ladder/, and these each other, by their paths below kernels/: "ptx.cuh", "micro/x.cuh".
struct StudySource {
  std::string label;
  std::string text;
};

}  // namespace hgemm
