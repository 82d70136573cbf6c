// SPDX-License-Identifier: Apache-2.0
// What --guard, --quarantine and --poison ask for (docs/testing/guards.md).
#pragma once

#include <cstddef>

namespace cuvmm::shim {

struct GuardOptions {
  bool guard = false;          ///< an unmapped granule on both sides of each reservation
  std::size_t quarantine = 0;  ///< so many freed ranges are kept from being given out again
  bool poison = false;         ///< new memory, and memory that ends, holds a pattern

  bool any() const { return guard || quarantine != 0 || poison; }
  bool ranges() const { return guard || quarantine != 0; }
};

}  // namespace cuvmm::shim
