// SPDX-License-Identifier: Apache-2.0
// How the shim tells whether queued work is over.
#pragma once

namespace cuvmm::shim {

enum class AsyncMode : unsigned char {
  kOff,
  kObserved,  ///< streams are asked
  kExact,     ///< an event of our own is behind each use
};

}  // namespace cuvmm::shim
