// SPDX-License-Identifier: Apache-2.0
// Longer flows of legal calls: those that go deepest, and that open, read, write and close files.
#pragma once

#include "emulator/testing_life/life.h"

/// Exports, imports again, and as external memory.
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

/// Legacy IPC of a process with itself.
inline void name_memory() {
  CUdeviceptr plain = 0, opened = 0;
  CUipcMemHandle name;
  OK(cuMemAlloc(&plain, kGranule));
  OK(cuIpcGetMemHandle(&name, plain));
  EXPECT(cuIpcOpenMemHandle(&opened, name, 1) == CUDA_ERROR_INVALID_CONTEXT);
  OK(cuMemFree(plain));
}

/// For broadcast(), which binds before there is a team; before the driver starts.
inline void wait_shortly_for_teams() { setenv("CUVMM_MULTICAST_TIMEOUT_MS", "2", 1); }

/// A multicast object's life.
inline void broadcast() {
  CUmulticastObjectProp prop{};
  prop.numDevices = 1;
  prop.size = kGranule;
  prop.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle object = 0;
  OK(cuMulticastCreate(&object, &prop));
  const Block block = make_block(true);
  // Waits for the team, and says so; both are cancellation points by nature.
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
