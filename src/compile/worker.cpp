#include <unistd.h>

#include "base/channel.h"
#include "compile/compiler.h"
#include "compile/nvrtc.h"

namespace hgemm {

int compile_worker_main(int socket_fd) {
  // The user's other processes have priority.
  [[maybe_unused]] const int niceness = nice(5);
  Channel channel(socket_fd);
  try {
    for (;;) {
      const CompileJob job = channel.receive().value();
      nlohmann::json reply;
      try {
        reply = run_nvrtc(job);
      } catch (const Error& error) {
        reply = {{"error", error.what()}};
      }
      if (!channel.send(reply)) return 1;
    }
  } catch (const ChannelClosed&) {
    return 0;  // no more requests
  }
}

}  // namespace hgemm
