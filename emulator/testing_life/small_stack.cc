// The whole program on a thread with a small stack. Arguments: bytes of stack for cuInit, and for
// everything else.
#include <limits.h>
#include <pthread.h>

#include "emulator/testing_life/life.h"

namespace {

void run(size_t stack, void* (*body)(void*)) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  EXPECT(pthread_attr_setstacksize(&attributes, stack) == 0);
  EXPECT(pthread_create(&thread, &attributes, body, nullptr) == 0);
  EXPECT(pthread_join(thread, nullptr) == 0);
}

void* initialise(void*) {
  use_device();
  return nullptr;
}

void use_sharing() {
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

void use_ipc_and_pools() {
  CUdeviceptr plain = 0;
  CUipcMemHandle name;
  OK(cuMemAlloc(&plain, kGranule));
  OK(cuIpcGetMemHandle(&name, plain));
  CUdeviceptr opened = 0;
  EXPECT(cuIpcOpenMemHandle(&opened, name, 1) == CUDA_ERROR_INVALID_CONTEXT);
  OK(cuMemFree(plain));
  OK(cuMemAllocAsync(&plain, 4096, nullptr));
  OK(cuMemFreeAsync(plain, nullptr));
}

void use_multicast() {
  CUmulticastObjectProp prop{};
  prop.numDevices = 1;
  prop.size = kGranule;
  prop.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle object = 0;
  OK(cuMulticastCreate(&object, &prop));
  OK(cuMulticastAddDevice(object, 0));
  const Block block = make_block(true);
  OK(cuMulticastBindMem(object, 0, block.handle, 0, kGranule, 0));
  const Block team = map_block(object);
  OK(cuMemsetD8(team.address, 3, 4096));
  OK(cuMemUnmap(team.address, kGranule));
  OK(cuMemAddressFree(team.address, kGranule));
  OK(cuMulticastUnbind(object, 0, 0, kGranule));
  OK(cuMemRelease(object));
  end_block(block);
}

void* use_all(void*) {
  CUcontext context = nullptr;
  OK(cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuCtxSetCurrent(context));
  cycle();
  use_sharing();
  use_ipc_and_pools();
  use_multicast();
  const char* text = nullptr;
  OK(cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  size_t free = 0, total = 0;
  OK(cuMemGetInfo(&free, &total));
  EXPECT(cuMemMap(0, 0, 0, 0, 0) != CUDA_SUCCESS);
  return nullptr;
}

}  // namespace

int main(int count, char** arguments) {
  EXPECT(count == 3);
  run(std::strtoul(arguments[1], nullptr, 10), initialise);
  run(std::strtoul(arguments[2], nullptr, 10), use_all);
  return 0;
}
