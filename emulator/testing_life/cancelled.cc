// pthread_cancel of a thread that does legal calls, also those that open, read and close files:
// it ends at the program's own cancellation points, and the driver works on. A cancel is pending
// before each call, so no luck is needed; then 60 come from another thread at any time.
#include <pthread.h>

#include "emulator/testing_life/life.h"

namespace {

void share() {
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

void name_memory() {
  CUdeviceptr plain = 0, opened = 0;
  CUipcMemHandle name;
  OK(cuMemAlloc(&plain, kGranule));
  OK(cuIpcGetMemHandle(&name, plain));
  EXPECT(cuIpcOpenMemHandle(&opened, name, 1) == CUDA_ERROR_INVALID_CONTEXT);
  OK(cuMemFree(plain));
}

void broadcast() {
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

void* pending(void* reached) {
  pthread_cancel(pthread_self());
  use_device();
  cycle();
  share();
  name_memory();
  broadcast();
  CUgraph graph = nullptr;
  EXPECT(cuGraphCreate(&graph, 0) == CUDA_ERROR_NOT_SUPPORTED);
  *static_cast<int*>(reached) += 1;
  pthread_testcancel();
  *static_cast<int*>(reached) += 1;
  return nullptr;
}

void* looping(void*) {
  use_device();
  for (;;) {
    share();
    pthread_testcancel();
  }
}

}  // namespace

int main() {
  setenv("CUVMM_MULTICAST_TIMEOUT_MS", "2", 1);
  pthread_t thread;
  void* result = nullptr;
  int reached = 0;
  EXPECT(pthread_create(&thread, nullptr, pending, &reached) == 0);
  EXPECT(pthread_join(thread, &result) == 0);
  EXPECT(result == PTHREAD_CANCELED && reached == 1);
  constexpr int kThreads = 60;
  for (int i = 0; i < kThreads; ++i) {
    EXPECT(pthread_create(&thread, nullptr, looping, nullptr) == 0);
    for (int k = 0; k < i % 20; ++k) sched_yield();
    pthread_cancel(thread);
    EXPECT(pthread_join(thread, &result) == 0);
    EXPECT(result == PTHREAD_CANCELED);
  }
  use_device();
  share();
  return 0;
}
