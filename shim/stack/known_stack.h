// SPDX-License-Identifier: Apache-2.0
// A stack that a thread has put together before.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace cuvmm::shim {

/// Of one thread and the signal handlers that interrupt it, at any instruction: who finds a key
/// gets the stack that was kept with it. Zero bytes are one that knows nothing.
struct KnownStack {
  std::uint64_t key;
  std::uint32_t id;  ///< a StackId

  void keep(std::uint64_t new_key, std::uint32_t new_id) noexcept {
    key = 0;
    fence();
    id = new_id;
    fence();
    key = new_key;
    fence();
    // A handler kept another one between these two. (A second handler would have to come just here
    // to find the mixture.)
    if (id != new_id) key = 0;
  }

  std::optional<std::uint32_t> find(std::uint64_t wanted) const noexcept {
    if (key != wanted) return {};
    fence();
    const std::uint32_t found = id;
    fence();
    if (key != wanted) return {};
    return found;
  }

 private:
  static void fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }
};

}  // namespace cuvmm::shim
