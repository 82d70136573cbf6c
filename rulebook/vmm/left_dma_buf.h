// SPDX-License-Identifier: Apache-2.0
// Descriptors of dma-bufs that a program keeps.
#pragma once

#include "rulebook/model/model.h"

namespace cuvmm {

/// A descriptor from cuMemGetHandleForAddressRange.
struct DmaBuf {
  int fd = -1;
  Address base = 0;  ///< of the range that it was made of
  Size size = 0;
  Origin made;
  Origin memory;  ///< who made the memory there; its call is 0 where that is not known
};

/// Who made the memory, plain or of a pool, that lies there. Of mapped memory nothing is said:
/// whether a handle keeps it once it is unmapped is another question.
Origin memory_behind(const Model& model, Address base);

/// What is wrong with a dma-buf that is open when the process ends: its memory was freed.
Violations check_left(const Model& model, const DmaBuf& open);

}  // namespace cuvmm
