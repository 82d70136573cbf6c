// SPDX-License-Identifier: Apache-2.0
// UCX's cuda_copy: for every address that a program passes, it queries the kind of memory, the
// location, the extent, and whether a network card may reach the memory by a dma-buf. It accepts
// any answer, and releases every object that a query made.
//
// expects: nothing
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "real-driver-tests/flows/flow.h"

namespace {

enum class Kind { kHost, kPinned, kDevice, kMapped };

struct Memory {
  Kind kind = Kind::kHost;
  CUdeviceptr base = 0;
  std::size_t size = 0;
  bool legacy = false;  // legacy memory of a context: neither of a pool nor mapped
};

// Only memory of cuMemCreate has a handle to retain.
bool is_mapped(CUdeviceptr address) {
  CUmemGenericAllocationHandle handle = 0;
  if (cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(address)) != CUDA_SUCCESS) {
    return false;
  }
  CUmemAllocationProp prop = {};
  SAW(CUDA_SUCCESS, cuMemGetAllocationPropertiesFromHandle(&prop, handle));
  HOLD(prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE);
  SAW(CUDA_SUCCESS, cuMemRelease(handle));
  return true;
}

Memory detect(CUdeviceptr address, std::size_t size) {
  if (is_mapped(address)) {
    Memory memory{Kind::kMapped};
    MUST(cuMemGetAddressRange(&memory.base, &memory.size, address));
    return memory;
  }
  CUmemorytype type = CU_MEMORYTYPE_HOST;
  std::uint32_t managed = 0;
  CUcontext context = nullptr;
  int ordinal = -1;
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_CONTEXT};
  void* answers[] = {&type, &managed, &ordinal, &context};
  if (cuPointerGetAttributes(4, asked, answers, address) != CUDA_SUCCESS || ordinal < 0) {
    return {Kind::kHost, address, size};
  }
  if (type == CU_MEMORYTYPE_HOST) return {Kind::kPinned, address, size};
  HOLD(!managed);
  HOLD(ordinal == 0);
  unsigned on = 1;
  if (context) {
    MUST(cuCtxPushCurrent(context));
    SAW(CUDA_SUCCESS, cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
    MUST(cuCtxPopCurrent(&context));
  }
  Memory memory{Kind::kDevice, 0, 0, context != nullptr};
  MUST(cuMemGetAddressRange(&memory.base, &memory.size, address));
  return memory;
}

using GetRange = CUresult (*)(void*, CUdeviceptr, std::size_t, CUmemRangeHandleType,
                              unsigned long long);

// The flow looks the function up, because a libcuda before 11.7 does not have it.
void export_dma_buf(const Memory& memory) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  if (cuGetProcAddress("cuMemGetHandleForAddressRange", &found, 12000, 0, &status) !=
          CUDA_SUCCESS ||
      !found) {
    return;
  }
  const auto get = reinterpret_cast<GetRange>(found);
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const CUdeviceptr begin = memory.base / page * page;
  const std::size_t size = (memory.base + memory.size + page - 1) / page * page - begin;
  int fd = -1;
  if (get(&fd, begin, size, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0) != CUDA_SUCCESS) return;
  HOLD(fd >= 0);
  close(fd);
}

void expect(Kind kind, CUdeviceptr address, std::size_t size, CUdeviceptr base, std::size_t whole) {
  const Memory memory = detect(address, size);
  HOLD(memory.kind == kind);
  HOLD(memory.base == base);
  HOLD(memory.size == whole);
  if (memory.kind == Kind::kDevice || memory.kind == Kind::kMapped) export_dma_buf(memory);
}

}  // namespace

int main() {
  const std::size_t granule = bug::start();
  constexpr std::size_t kSize = 4 << 20, kInside = 4096, kPart = 64;

  CUdeviceptr plain = 0, queued = 0;
  MUST(cuMemAlloc(&plain, kSize));
  expect(Kind::kDevice, plain + kInside, kPart, plain, kSize);

  const flow::Mapped mapped = flow::map_new(2 * granule);
  expect(Kind::kMapped, mapped.address + kInside, kPart, mapped.address, 2 * granule);

  MUST(cuMemAllocAsync(&queued, kSize, nullptr));
  MUST(cuStreamSynchronize(nullptr));
  HOLD(!detect(queued, kPart).legacy);
  expect(Kind::kDevice, queued + kInside, kPart, queued, kSize);

  void* pinned = nullptr;
  MUST(cuMemAllocHost(&pinned, kSize));
  const auto host = reinterpret_cast<CUdeviceptr>(pinned);
  expect(Kind::kPinned, host + kInside, kPart, host + kInside, kPart);
  std::vector<char> pageable(kSize);
  const auto own = reinterpret_cast<CUdeviceptr>(pageable.data());
  expect(Kind::kHost, own, kPart, own, kPart);

  SAW(CUDA_SUCCESS, cuMemFreeHost(pinned));
  SAW(CUDA_SUCCESS, cuMemFreeAsync(queued, nullptr));
  MUST(cuStreamSynchronize(nullptr));
  SAW(CUDA_SUCCESS,
      cuMemRelease(mapped.handle));  // in this order, because the mapping holds the memory
  flow::unmap(mapped.address, mapped.size);
  SAW(CUDA_SUCCESS, cuMemFree(plain));
  return bug::verdict();
}
