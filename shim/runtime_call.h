// The function of the CUDA runtime that a thread is in, for findings that speak of it.
#pragma once

#include "shim/stacks.h"

namespace cuvmm::shim {

struct RuntimeCall {
  const char* name = nullptr;  ///< "cudaIpcOpenMemHandle"; lives for ever
  Caller caller;               ///< of that function: the program's own code
};

/// The calling thread's outermost runtime function, or null. While it is set, findings and
/// histories name the place where the program called it, not the runtime library's call of the
/// driver.
const RuntimeCall* runtime_call() noexcept;

/// Marks the calling thread as inside a runtime function, for its scope.
class RuntimeScope {
 public:
  explicit RuntimeScope(const RuntimeCall& call) noexcept;
  RuntimeScope(const RuntimeScope&) = delete;
  RuntimeScope& operator=(const RuntimeScope&) = delete;
  ~RuntimeScope();

 private:
  const bool outermost_;
};

}  // namespace cuvmm::shim
