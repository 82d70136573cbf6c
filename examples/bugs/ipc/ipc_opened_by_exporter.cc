// SPDX-License-Identifier: Apache-2.0
// Field bug 89: openucx/ucx pull request 11226 and issue 10933.
// Ranks in one process exchange IPC handles as if they were processes, and one rank opens a handle
// that it made itself.
//
// expects: cuIpcOpenMemHandle-other-process
#include "examples/bugs/bug.h"

int main() {
  bug::start();
  CUdeviceptr memory = 0, again = 0;
  CUipcMemHandle handle;
  MUST(cuMemAlloc(&memory, 4 << 20));
  MUST(cuIpcGetMemHandle(&handle, memory));
  SAW(CUDA_ERROR_INVALID_CONTEXT,
      cuIpcOpenMemHandle(&again, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  MUST(cuMemFree(memory));
  return bug::verdict();
}
