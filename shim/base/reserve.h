// SPDX-License-Identifier: Apache-2.0
// Memory for the end of the process, or for a time when the heap has none left. The heap may be
// used up. Or the code that a signal interrupted may hold the heap's lock.
#pragma once

#include <cstddef>

#include "shim/base/thread_state.h"

namespace cuvmm::shim {

/// Returns `size` bytes, aligned for any type, from pages that only the shim uses; null if the
/// kernel has none. The memory is never freed. Async-signal-safe.
void* take_from_reserve(std::size_t size) noexcept;
/// Whether the memory came from the reserve.
bool is_from_reserve(const void* memory) noexcept;

/// For its scope, the calling thread has at least this Care.
class CareScope {
 public:
  explicit CareScope(Care care) noexcept : before_(t_state.care) {
    if (care > before_) t_state.care = care;
  }
  CareScope(const CareScope&) = delete;
  CareScope& operator=(const CareScope&) = delete;
  ~CareScope() { t_state.care = before_; }

 private:
  const Care before_;
};

}  // namespace cuvmm::shim
