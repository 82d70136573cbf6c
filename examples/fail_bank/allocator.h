// SPDX-License-Identifier: Apache-2.0
// A small allocator of device memory in granules. Its error paths have at most one mistake.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <list>
#include <mutex>
#include <vector>

#include "examples/fail_bank/bugs.h"

namespace bank {

/// An address range with memory behind it.
struct Segment {
  CUdeviceptr base = 0;
  std::size_t size = 0;
  std::vector<CUmemGenericAllocationHandle> handles;  ///< one for each granule that is mapped
  bool plain = false;                                 ///< of cuMemAlloc
};

class Allocator {
 public:
  Allocator(Bug bug, CUdevice device);
  std::size_t granule() const { return granule_; }

  /// A new segment of `granules` granules; null where the driver refused a call.
  Segment* allocate(std::size_t granules);
  /// False where the driver refused a call.
  bool free(Segment* segment);
  bool free_all();

 private:
  bool is(Bug bug) const { return bug_ == bug; }
  bool fill(Segment& segment, std::size_t granules);
  bool add_granule(Segment& segment);
  bool create(CUmemGenericAllocationHandle& handle);
  bool undo(Segment& segment);
  bool fall_back(Segment& segment);

  const Bug bug_;
  CUmemAllocationProp prop_{};
  CUmemAccessDesc access_{};
  std::size_t granule_ = 0;
  std::mutex mutex_;
  std::list<Segment> segments_;
};

}  // namespace bank
