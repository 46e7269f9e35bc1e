#include "base/console.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/text.h"

namespace hgemm {

void write_to(std::FILE* file, std::string_view text) noexcept {
  std::fwrite(text.data(), 1, text.size(), file);
}

void say_text(std::string_view text) { write_to(stderr, printable(text)); }

void open_closed_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // open() takes the lowest free number. Those before it are open, so it must be this stream's.
    if (open("/dev/null", stream == STDIN_FILENO ? O_RDONLY : O_WRONLY) != stream) return;
  }
}

}  // namespace hgemm
