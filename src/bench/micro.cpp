#include "base/error.h"
#include "bench/bench.h"

namespace hgemm {

Study run_micro(const StudyRequest& /*request*/, const std::filesystem::path& /*cubin*/,
                const Bench& /*bench*/) {
  throw Error("micro is not built into this program");
}

}  // namespace hgemm
