// SPDX-License-Identifier: Apache-2.0
#include "shim/base/interrupted.h"

#include <unwind.h>

#include <atomic>
#include <cstdint>

namespace cuvmm::shim {

namespace {

std::atomic<const void*> g_exit_function{nullptr};

}  // namespace

bool in_signal_handler() noexcept {
  bool found = false;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* argument) {
        int interrupted = 0;
        _Unwind_GetIPInfo(context, &interrupted);
        // The address is that of the instruction itself, not of the one after a call: a signal came
        // there.
        if (interrupted) *static_cast<bool*>(argument) = true;
        return interrupted ? _URC_NORMAL_STOP : _URC_NO_REASON;
      },
      &found);
  return found;
}

void note_exit_function(const void* begin) noexcept { g_exit_function.store(begin); }

bool below_exit() noexcept {
  struct Search {
    std::uintptr_t begin;
    bool found;
  } search{reinterpret_cast<std::uintptr_t>(g_exit_function.load()), false};
  if (search.begin == 0) return false;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* argument) {
        // exit() calls one function, as the last thing that it does.
        constexpr std::uintptr_t kBytes = 64;
        auto* const sought = static_cast<Search*>(argument);
        const std::uintptr_t at = _Unwind_GetIP(context) - 1;
        if (at >= sought->begin && at - sought->begin < kBytes) sought->found = true;
        return sought->found ? _URC_NORMAL_STOP : _URC_NO_REASON;
      },
      &search);
  return search.found;
}

}  // namespace cuvmm::shim
