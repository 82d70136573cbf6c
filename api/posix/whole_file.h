// SPDX-License-Identifier: Apache-2.0
// All bytes of a file. This is a header only, because the preloaded objects read no files this way.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace cuvmm {

struct WholeFile {
  std::string text;
  std::string error;  ///< "" or the system's reason why it cannot be read: "Is a directory"
};

inline WholeFile whole_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {"", std::strerror(errno)};
  WholeFile file;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count > 0) {
      file.text.append(buffer, static_cast<std::size_t>(count));
    } else if (count == 0) {
      break;
    } else if (errno != EINTR) {
      file = {"", std::strerror(errno)};
      break;
    }
  }
  ::close(fd);
  return file;
}

}  // namespace cuvmm
