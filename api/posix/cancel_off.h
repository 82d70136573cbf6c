// SPDX-License-Identifier: Apache-2.0
// No thread is cancelled inside our code: pthread_cancel unwinds the stack, and would stop at our
// noexcept functions, which ends the program.
#pragma once

#include <pthread.h>

namespace cuvmm {

/// Holds back a pthread_cancel of the calling thread for its scope; it acts at the program's next
/// cancellation point. For slow paths, which open files or ask the driver. Asynchronous
/// cancellation (PTHREAD_CANCEL_ASYNCHRONOUS) may come before the first line of the scope.
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
