// SPDX-License-Identifier: Apache-2.0
#include "tools/report/tree/proc_text.h"

#include <fcntl.h>
#include <unistd.h>

namespace cuvmm::tools {

// Uses read() instead of a stream, because a stream throws if the process ends after open().
std::string proc_text(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text;
  char block[4096];
  for (ssize_t got; (got = ::read(fd, block, sizeof block)) > 0;)
    text.append(block, static_cast<std::size_t>(got));
  ::close(fd);
  return text;
}

}  // namespace cuvmm::tools
