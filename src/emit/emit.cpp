#include "emit/emit.h"

#include <fmt/format.h>

#include "base/error.h"
#include "emit/json.h"

namespace hgemm {

Format parse_format(std::string_view text) {
  if (text == "table") return Format::kTable;
  if (text == "md") return Format::kMarkdown;
  if (text == "json") return Format::kJson;
  if (text == "csv") return Format::kCsv;
  throw InputError(fmt::format("unknown format '{}': use table, md, json or csv", text));
}

std::string format_environment(const Environment& e) {
  return dump(Json{{"gpu_name", e.gpu_name},
                   {"gpu_uuid", e.gpu_uuid},
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
                   {"nvrtc", e.nvrtc},
                   {"kernel_hash", e.kernel_hash},
                   {"git_revision", e.git_revision}});
}

}  // namespace hgemm
