// SPDX-License-Identifier: Apache-2.0
#include "shim/process/interrupted.h"

#include <unwind.h>

namespace cuvmm::shim {

bool in_signal_handler() noexcept {
  bool found = false;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* argument) {
        int interrupted = 0;
        _Unwind_GetIPInfo(context, &interrupted);
        // The address is that of the instruction itself, not behind a call: a signal came there.
        if (interrupted) *static_cast<bool*>(argument) = true;
        return interrupted ? _URC_NORMAL_STOP : _URC_NO_REASON;
      },
      &found);
  return found;
}

}  // namespace cuvmm::shim
