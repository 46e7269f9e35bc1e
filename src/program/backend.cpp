#include "program/backend.h"

#include "base/console.h"
#include "program/blas.h"
#include "worker/remote.h"

namespace hgemm::cli {

Backend real_backend() {
  return {.open_gpus =
              [](const GpuRequest& request) {
                const std::vector<VisibleGpu> chosen = choose_gpus(list_gpus(), request.devices);
                std::vector<std::unique_ptr<Measurer>> gpus;
                for (const VisibleGpu& gpu : chosen) {
                  if (gpu.busy) {
                    say("warning: another process uses GPU {} ({}); times will be worse than this "
                        "GPU's own\n",
                        gpu.index, gpu.uuid);
                  }
                  gpus.push_back(std::make_unique<RemoteMeasurer>(
                      kWorkerCommand, WorkerLimits{}, gpu.uuid, request.peers,
                      variables_for_blas(request.blas)));
                }
                return gpus;
              },
          .compiler = nvrtc_compiler()};
}

}  // namespace hgemm::cli
