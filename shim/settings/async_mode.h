// SPDX-License-Identifier: Apache-2.0
// How the shim finds out whether queued work is over.
#pragma once

namespace cuvmm::shim {

enum class AsyncMode : unsigned char {
  kOff,
  kObserved,  ///< the driver is asked about streams
  kExact,     ///< cuvmm records an event of its own behind each use
};

}  // namespace cuvmm::shim
