#include "study/lab.h"

namespace hgemm {

double StudyRequest::flops() const {
  double flops = shape ? shape->flops() : 0;
  for (const ChainLink& link : links) flops += link.shape.flops();
  return flops;
}

}  // namespace hgemm
