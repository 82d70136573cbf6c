// SPDX-License-Identifier: Apache-2.0
#include "api/posix/raw_write.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "api/posix/write_signals_held.h"

namespace cuvmm {

int raw_write(int fd, std::string_view text) noexcept {
  const int saved = errno;
  int error = 0;
  {
    const WriteSignalsHeld held;
    while (!text.empty()) {
      const long written = ::syscall(SYS_write, fd, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) {
        error = written < 0 ? errno : EIO;
        break;
      }
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  errno = saved;
  return error;
}

}  // namespace cuvmm
