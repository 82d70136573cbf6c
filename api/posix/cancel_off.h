// SPDX-License-Identifier: Apache-2.0
// Keeps pthread_cancel out of cuvmm's code. pthread_cancel unwinds the stack, and the first
// noexcept function on the stack would then end the program.
#pragma once

#include <pthread.h>

namespace cuvmm {

/// Delays a pthread_cancel of the calling thread while this object lives; the cancel then acts at
/// the program's next cancellation point. For slow code, which opens files or asks the driver.
/// Asynchronous cancellation (PTHREAD_CANCEL_ASYNCHRONOUS) may act before the first line of the
/// scope.
class CancelOff {
 public:
  CancelOff() noexcept { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  CancelOff(const CancelOff&) = delete;
  CancelOff& operator=(const CancelOff&) = delete;
  ~CancelOff() { ::pthread_setcancelstate(before_, nullptr); }

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace cuvmm
