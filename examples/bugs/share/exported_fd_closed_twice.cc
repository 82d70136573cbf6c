// SPDX-License-Identifier: Apache-2.0
// As gs-madrona pull request 67, with a plain export: two owners close one descriptor.
// Whoever sends the descriptor closes it, and so does whoever keeps the memory. Here the second
// close() finds nothing; in a program with threads it closes somebody's new file.
//
// expects: cuMemExportToShareableHandle-fd-closed-once
#include <fcntl.h>
#include <unistd.h>

#include "examples/bugs/bug.h"

int main() {
  const std::size_t size = bug::start();
  const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const CUmemAllocationProp prop = bug::memory_on(0, type);
  CUmemGenericAllocationHandle handle = 0;
  int fd = -1;
  MUST(cuMemCreate(&handle, size, &prop, 0));
  MUST(cuMemExportToShareableHandle(&fd, handle, type, 0));
  if (close(fd) != 0) std::printf("close(%d) failed\n", fd);  // it was sent
  if (close(fd) == 0) std::printf("close(%d) hit another file\n", fd);
  MUST(cuMemRelease(handle));
  return bug::verdict();
}
