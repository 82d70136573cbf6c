// SPDX-License-Identifier: Apache-2.0
// Descriptors of dma-bufs that are open when the program ends.
#pragma once

#include "rulebook/model/model.h"

namespace cuvmm {

/// A descriptor from cuMemGetHandleForAddressRange.
struct DmaBuf {
  int fd = -1;
  Address base = 0;  ///< start of the range that it was made from
  Size size = 0;
  Origin made;
  Origin memory;  ///< the call that made the memory there; 0 unknown
};

/// The call that made the plain or pool memory at the address. Empty for mapped memory, because it
/// is not known whether a handle keeps such memory after its unmap.
Origin memory_behind(const Model& model, Address base);

/// Reports a dma-buf that is open when the process ends although its memory was freed.
Violations check_left(const Model& model, const DmaBuf& open);

}  // namespace cuvmm
