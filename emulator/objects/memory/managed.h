// SPDX-License-Identifier: Apache-2.0
// Managed memory: the advice and the locations that programs set. They have no effect here, because
// all memory is the host's; programs can query them.
#pragma once

#include <cuda.h>

#include <set>

namespace cuvmm::emulator {

/// A place as clients name it: a location's type and id; type 0: no place.
struct ManagedPlace {
  int type = 0;
  int id = 0;
};

/// In the order in which a driver lists them: the devices, then CU_DEVICE_CPU, which is -1 (after a
/// test of NVIDIA's own, cuda-python's test_cuda_mem_range_attr).
struct DevicesFirst {
  bool operator()(int a, int b) const {
    return static_cast<unsigned>(a) < static_cast<unsigned>(b);
  }
};

/// Advice for one managed allocation: advice for a part of it counts for all of it.
struct ManagedAdvice {
  bool read_mostly = false;
  ManagedPlace preferred;
  ManagedPlace prefetched;
  std::set<int, DevicesFirst> accessed_by;  ///< device numbers; CU_DEVICE_CPU for the host
};

}  // namespace cuvmm::emulator
