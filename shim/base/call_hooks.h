// SPDX-License-Identifier: Apache-2.0
// What every intercepted call asks before anything else. It lies in one cache line.
#pragma once

#include <atomic>

namespace cuvmm::shim {

class Injector;

struct alignas(64) CallHooks {
  /// Whether calls are to be kept in the ring of the last calls, or nobody has asked yet: until the
  /// first call of a process and of a child of fork.
  std::atomic<bool> ring_wanted{true};
  /// Who makes calls fail on purpose; null: nobody.
  std::atomic<Injector*> injector{nullptr};
};
inline constinit CallHooks g_hooks;

}  // namespace cuvmm::shim
