// SPDX-License-Identifier: Apache-2.0
// A stack that a thread has captured before.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace cuvmm::shim {

/// Used by one thread and the signal handlers that interrupt it, at any instruction: find() returns
/// only the stack that was stored with the key. An object of zero bytes knows no stack.
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
    // A handler may have stored another stack between these two. (Only a second handler that came
    // exactly here could read the mixture.)
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
