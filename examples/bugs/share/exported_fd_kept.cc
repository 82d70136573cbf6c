// SPDX-License-Identifier: Apache-2.0
// Field bug 73: smolvm pull request 650 (bug 74, flashinfer pull request 2563, leaks
// one descriptor for each peer).
// The program exports memory to a child process; the parent releases everything except the
// descriptor. An open descriptor is a reference too, so the memory stays taken.
//
// expects: cuMemExportToShareableHandle-fd-closed
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
  // The program sends the descriptor to the child here, which closes its copy after the import.
  SAW(CUDA_SUCCESS, cuMemRelease(handle));

  MUST(cuMemGetInfo(&free_after, &total));
  std::printf("everything is released, and %zu bytes are still taken\n", free_before - free_after);
  return bug::verdict();
}
