// SPDX-License-Identifier: Apache-2.0
// Longer sequences of legal calls: those with the deepest call stacks, and those that open, read,
// write and close files.
#pragma once

#include "emulator/testing_life/life.h"

/// Exports memory, imports it again, and imports it as external memory.
inline void share() {
  const Block block = make_block(true);
  OK(cuMemsetD8(block.address, 1, 64));
  const int fd = exported(block);
  CUmemGenericAllocationHandle again = 0;
  OK(import_from(fd, &again));
  OK(cuMemRelease(again));
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc{};
  desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  desc.handle.fd = fd;
  desc.size = kGranule;
  CUexternalMemory memory = nullptr;
  OK(cuImportExternalMemory(&memory, &desc));
  OK(cuDestroyExternalMemory(memory));
  end_block(block);
}

/// Exports and opens memory by legacy IPC within one process.
inline void name_memory() {
  CUdeviceptr plain = 0, opened = 0;
  CUipcMemHandle name;
  OK(cuMemAlloc(&plain, kGranule));
  OK(cuIpcGetMemHandle(&name, plain));
  EXPECT(cuIpcOpenMemHandle(&opened, name, 1) == CUDA_ERROR_INVALID_CONTEXT);
  OK(cuMemFree(plain));
}

/// Shortens the wait of broadcast(), which binds before the team is complete; called before the
/// driver starts.
inline void wait_shortly_for_teams() { setenv("CUVMM_MULTICAST_TIMEOUT_MS", "2", 1); }

/// Creates, binds, maps and releases a multicast object.
inline void broadcast() {
  CUmulticastObjectProp prop{};
  prop.numDevices = 1;
  prop.size = kGranule;
  prop.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle object = 0;
  OK(cuMulticastCreate(&object, &prop));
  const Block block = make_block(true);
  // Waits for the team, and reports that on stderr. The system's calls for both would be
  // cancellation points.
  EXPECT(cuMulticastBindMem(object, 0, block.handle, 0, kGranule, 0) != CUDA_SUCCESS);
  OK(cuMulticastAddDevice(object, 0));
  OK(cuMulticastBindMem(object, 0, block.handle, 0, kGranule, 0));
  const Block team = map_block(object);
  OK(cuMemsetD8(team.address, 3, 4096));
  unsigned char byte = 0;
  EXPECT(cuMemcpyDtoH(&byte, team.address, 1) != CUDA_SUCCESS);
  OK(cuMemUnmap(team.address, kGranule));
  OK(cuMemAddressFree(team.address, kGranule));
  OK(cuMulticastUnbind(object, 0, 0, kGranule));
  OK(cuMemRelease(object));
  end_block(block);
}
