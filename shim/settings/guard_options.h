// SPDX-License-Identifier: Apache-2.0
// The settings of --guard, --quarantine and --poison (docs/testing/guards.md).
#pragma once

#include <cstddef>

namespace cuvmm::shim {

struct GuardOptions {
  bool guard = false;          ///< an unmapped granule lies on both sides of each reservation
  std::size_t quarantine = 0;  ///< the number of freed ranges that the driver does not get back yet
  bool poison = false;         ///< new memory, and memory that ends, is filled with a pattern

  bool any() const { return guard || quarantine != 0 || poison; }
  bool ranges() const { return guard || quarantine != 0; }
};

}  // namespace cuvmm::shim
