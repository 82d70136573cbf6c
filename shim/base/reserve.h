// SPDX-License-Identifier: Apache-2.0
// Memory for the end of the process, or for when there is none left. The heap may be used up. It
// may also be locked by the very code that a signal interrupted.
#pragma once

#include <cstddef>

#include "shim/base/thread_state.h"

namespace cuvmm::shim {

/// `size` bytes, aligned for anything, from pages that are ours alone; null when the kernel has
/// none. Never given back. Async-signal-safe.
void* take_from_reserve(std::size_t size) noexcept;
/// Whether the memory came from there.
bool is_from_reserve(const void* memory) noexcept;

/// For its scope, the calling thread is as careful as said, or as it was if that was more.
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
