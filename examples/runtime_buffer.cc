// SPDX-License-Identifier: Apache-2.0
// A program of the CUDA runtime that maps more of an external memory than there is: the size of two
// frames in an allocation for one. The driver only says that a value is invalid; cuvmm names the
// value, in terms of the runtime's function that the program called. Real programs take the size of
// the image, or of the buffer, in place of the size of the memory behind it.
//
// expects: cuExternalMemoryGetMappedBuffer-bounds
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdio>

namespace {

constexpr std::size_t kFrame = std::size_t{2} << 20;

// Stands for the other API (Vulkan, OpenGL): memory as a file descriptor.
bool export_frame(int& fd) {
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle handle = 0;
  return cuMemCreate(&handle, kFrame, &prop, 0) == CUDA_SUCCESS &&
         cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
             CUDA_SUCCESS &&
         cuMemRelease(handle) == CUDA_SUCCESS;
}

int differences = 0;

void saw(const char* call, cudaError_t answer, cudaError_t expected) {
  std::printf("%s = %s\n", call, cudaGetErrorName(answer));
  if (answer != expected) ++differences;
}

}  // namespace

int main() {
  int fd = -1;
  if (cudaFree(nullptr) != cudaSuccess || !export_frame(fd)) return 77;
  cudaExternalMemoryHandleDesc handle = {};
  handle.type = cudaExternalMemoryHandleTypeOpaqueFd;
  handle.handle.fd = fd;
  handle.size = kFrame;
  cudaExternalMemory_t memory = nullptr;
  saw("cudaImportExternalMemory", cudaImportExternalMemory(&memory, &handle), cudaSuccess);

  cudaExternalMemoryBufferDesc frames = {};
  frames.size = 2 * kFrame;
  void* pointer = nullptr;
  saw("cudaExternalMemoryGetMappedBuffer, two frames",
      cudaExternalMemoryGetMappedBuffer(&pointer, memory, &frames), cudaErrorInvalidValue);
  frames.size = kFrame;
  saw("cudaExternalMemoryGetMappedBuffer, one frame",
      cudaExternalMemoryGetMappedBuffer(&pointer, memory, &frames), cudaSuccess);
  saw("cudaMemset", cudaMemset(pointer, 0, kFrame), cudaSuccess);
  saw("cudaFree", cudaFree(pointer), cudaSuccess);
  saw("cudaDestroyExternalMemory", cudaDestroyExternalMemory(memory), cudaSuccess);
  return differences == 0 ? 0 : 1;
}
