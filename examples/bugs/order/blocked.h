// SPDX-License-Identifier: Apache-2.0
// A stream that waits until the program lets it go. Work behind the wait is unfinished until then,
// on a GPU as in the emulator, and without a kernel.
#pragma once

#include <cstdint>

#include "examples/bugs/bug.h"

namespace bug {

class BlockedStream {
 public:
  explicit BlockedStream(unsigned flags = CU_STREAM_NON_BLOCKING) {
    void* word = nullptr;
    CUdeviceptr address = 0;
    MUST(cuMemHostAlloc(&word, sizeof(std::uint32_t), CU_MEMHOSTALLOC_DEVICEMAP));
    word_ = static_cast<volatile std::uint32_t*>(word);
    *word_ = 0;
    MUST(cuMemHostGetDevicePointer(&address, word, 0));
    MUST(cuStreamCreate(&stream_, flags));
    MUST(cuStreamWaitValue32(stream_, address, 1, CU_STREAM_WAIT_VALUE_EQ));
  }
  CUstream get() const { return stream_; }
  void let_go() { *word_ = 1; }

 private:
  CUstream stream_ = nullptr;
  volatile std::uint32_t* word_ = nullptr;
};

/// Memory of one granule, mapped for device 0.
struct Mapped {
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  std::size_t size = 0;
};

inline Mapped map_one(std::size_t size) {
  Mapped m;
  m.size = size;
  const CUmemAllocationProp prop = memory_on(0);
  const CUmemAccessDesc access = access_from(0);
  MUST(cuMemAddressReserve(&m.address, size, 0, 0, 0));
  MUST(cuMemCreate(&m.handle, size, &prop, 0));
  MUST(cuMemMap(m.address, size, 0, m.handle, 0));
  MUST(cuMemSetAccess(m.address, size, &access, 1));
  return m;
}

}  // namespace bug
