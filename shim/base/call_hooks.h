// SPDX-License-Identifier: Apache-2.0
// The variables that every intercepted call reads first. They lie in one cache line.
#pragma once

#include <atomic>

namespace cuvmm::shim {

class Injector;

struct alignas(64) CallHooks {
  /// Whether calls are to be recorded in the ring of the last calls; also true until the first call
  /// of a process, or of a child of fork, has read the options.
  std::atomic<bool> last_calls_wanted{true};
  /// The injector that makes calls fail on purpose; null: there is none.
  std::atomic<Injector*> injector{nullptr};
};
inline constinit CallHooks g_hooks;

}  // namespace cuvmm::shim
