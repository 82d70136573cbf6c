// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/python/guarded_memory.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace cuvmm::shim {

// The kernel copies the new signal mask from the address before it looks at the first argument.
// That argument is no valid operation, so the kernel does nothing: EINVAL if the page can be read,
// else EFAULT. This needs no descriptor, no lock and no privilege.
bool GuardedMemory::look(std::uintptr_t page) noexcept {
  Set& set = set_of(page);
  if (std::find(set.begin() + 1, set.end(), page) != set.end()) return true;
  constexpr int kNothing = ~0;
  constexpr std::size_t kMaskBytes = 8;
  const int before = errno;
  ::syscall(SYS_rt_sigprocmask, kNothing, page << kShift, nullptr, kMaskBytes);
  const bool there = errno == EINVAL;
  errno = before;
  if (there) {
    std::copy_backward(set.begin(), set.end() - 1, set.end());
    set[0] = page;
  }
  return there;
}

}  // namespace cuvmm::shim
