#include "worker/lab.h"

namespace hgemm {

double StudyRequest::flops() const {
  double flops = problem ? problem->flops() : 0;
  for (const StudyPart& part : parts) flops += part.problem.flops();
  return flops;
}

}  // namespace hgemm
