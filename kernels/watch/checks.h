// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cuvmm::kernels {

/// The mistakes of kernels that are looked for, beside those that end a kernel.
struct Checks {
  bool init = false;  ///< loads of bytes that nobody wrote
  bool race = false;  ///< accesses in no order, of which one writes
  bool sync = false;  ///< barriers and masks
  bool any() const { return init || race || sync; }
};

}  // namespace cuvmm::kernels
