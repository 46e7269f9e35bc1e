#include "output/emit.h"

#include "output/json.h"

namespace hgemm {

std::string format_machine(const Machine& machine) {
  const Environment& e = machine.environment;
  return dump(Json{{"gpu_name", e.gpu_name},
                   {"compute_major", e.compute_major},
                   {"compute_minor", e.compute_minor},
                   {"sm_count", e.sm_count},
                   {"l2_bytes", e.l2_bytes},
                   {"memory_bytes", e.memory_bytes},
                   {"max_sm_mhz", e.max_sm_mhz},
                   {"power_limit_w", e.power_limit_w},
                   {"driver", e.driver},
                   {"cuda", e.cuda},
                   {"cublas", e.cublas},
                   {"gpu_uuid", machine.run.gpu_uuid},
                   {"kernel_sources", machine.run.kernel_sources},
                   {"git_revision", machine.run.git_revision}});
}

}  // namespace hgemm
