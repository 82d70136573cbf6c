// SPDX-License-Identifier: Apache-2.0
// Field bug 68: openucx/ucx issue 11548 (bug 65, mscclpp issue 467, meets the other side of it).
// The program creates memory that can be shared by file descriptor, and later the transport between
// nodes asks for a fabric handle. The types are fixed at creation; UCX fell back to a path that was
// six hundred times slower, without a message.
//
// expects: cuMemExportToShareableHandle-type-requested
#include "examples/bugs/bug.h"

int main() {
  const std::size_t size = bug::start();
  const CUmemAllocationProp prop = bug::memory_on(0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  CUmemGenericAllocationHandle handle = 0;
  CUmemFabricHandle fabric = {};
  MUST(cuMemCreate(&handle, size, &prop, 0));

  SAW(CUDA_ERROR_INVALID_VALUE,
      cuMemExportToShareableHandle(&fabric, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0));

  MUST(cuMemRelease(handle));
  return bug::verdict();
}
