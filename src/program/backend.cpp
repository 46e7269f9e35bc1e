#include "program/backend.h"

#include "base/console.h"
#include "program/gpus.h"
#include "worker/remote.h"

namespace hgemm::cli {

Backend real_backend() {
  return {.open_gpus =
              [](const std::string& devices, const std::vector<Peer>& peers) {
                const std::vector<VisibleGpu> chosen = choose_gpus(list_gpus(), devices);
                std::vector<std::unique_ptr<Measurer>> gpus;
                for (const VisibleGpu& gpu : chosen) {
                  if (gpu.busy) {
                    say("warning: another process uses GPU {} ({}); times will be worse than this "
                        "GPU's own\n",
                        gpu.index, gpu.uuid);
                  }
                  gpus.push_back(std::make_unique<RemoteMeasurer>(kWorkerCommand, WorkerLimits{},
                                                                  gpu.uuid, peers));
                }
                return gpus;
              },
          .compiler = nvrtc_compiler()};
}

}  // namespace hgemm::cli
