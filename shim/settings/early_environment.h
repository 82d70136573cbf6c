// SPDX-License-Identifier: Apache-2.0
// The environment before the C library has read it: while functions of .preinit_array run.
#pragma once

#include <unistd.h>

// The address at which the stack began: the arguments and the environment lie there. The loader
// defines it; no header declares it, and other loaders may not have it.
extern "C" __attribute__((weak)) void* __libc_stack_end;  // NOLINT

namespace cuvmm::shim {

/// For its scope, getenv() finds the variables that the process was started with.
class EarlyEnvironment {
 public:
  EarlyEnvironment() noexcept {
    if (environ || !&__libc_stack_end || !__libc_stack_end) return;
    auto* const words = static_cast<char**>(__libc_stack_end);
    const auto count = reinterpret_cast<long>(words[0]);
    environ = words + 1 + count + 1;
    set_ = true;
  }
  EarlyEnvironment(const EarlyEnvironment&) = delete;
  EarlyEnvironment& operator=(const EarlyEnvironment&) = delete;
  ~EarlyEnvironment() {
    if (set_) environ = nullptr;
  }

 private:
  bool set_ = false;
};

}  // namespace cuvmm::shim
