// How functions behind the C interface say what went wrong.
#pragma once

#include <string>

#include "driver.h"
#include "hgemm_bundle.h"

namespace hgemm_runtime {

struct Outcome {
  int status = HGEMM_TUNED_OK;
  std::string text = {};  ///< a sentence; empty: what the status means says it all

  bool is_ok() const { return status == HGEMM_TUNED_OK; }
};

inline Outcome driver_failed(const Driver& driver, CUresult code, const char* doing) {
  return {HGEMM_BUNDLE_DRIVER_ERROR, std::string(doing) + ": " + driver.text_of(code)};
}

}  // namespace hgemm_runtime
