// SPDX-License-Identifier: Apache-2.0
// As gs-madrona pull request 67, with a plain export: two owners close one descriptor.
// Both the sender of the descriptor and the owner of the memory close it. Here the second close()
// fails; in a program with threads it closes another thread's new file.
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
  if (close(fd) != 0) std::printf("close(%d) failed\n", fd);  // by the sender
  if (close(fd) == 0) std::printf("close(%d) hit another file\n", fd);
  MUST(cuMemRelease(handle));
  return bug::verdict();
}
