// SPDX-License-Identifier: Apache-2.0
// NVIDIA/nccl issue 2376, in small: a descriptor leaks on a path that is seldom taken.
// The program closes the exported descriptor, but not a copy that dup() made for sending later. The
// memory stays taken, although every handle was released.
//
// expects: cuMemExportToShareableHandle-fd-closed
#include <unistd.h>

#include "examples/bugs/bug.h"

int main() {
  const std::size_t size = 16 * bug::start();
  const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const CUmemAllocationProp prop = bug::memory_on(0, type);
  std::size_t free_before = 0, free_after = 0, total = 0;
  CUmemGenericAllocationHandle handle = 0;
  int fd = -1;
  MUST(cuMemGetInfo(&free_before, &total));
  MUST(cuMemCreate(&handle, size, &prop, 0));

  SAW(CUDA_SUCCESS, cuMemExportToShareableHandle(&fd, handle, type, 0));
  const int to_send = dup(fd);
  close(fd);
  SAW(CUDA_SUCCESS, cuMemRelease(handle));

  MUST(cuMemGetInfo(&free_after, &total));
  std::printf("everything is released, and %zu bytes are still taken by descriptor %s\n",
              free_before - free_after, to_send >= 0 ? "two" : "?");
  return bug::verdict();
}
