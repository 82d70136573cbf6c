// SPDX-License-Identifier: Apache-2.0
// The variables that every intercepted call reads first. They lie in one cache line.
#pragma once

#include <atomic>

#include "recorder/last_calls/writer.h"

namespace cuvmm::shim {

class Injector;
class KernelReports;
class Session;

struct alignas(64) CallHooks {
  /// Whether calls are to be recorded in the ring of the last calls; also true until the first call
  /// of a process, or of a child of fork, has read the options.
  std::atomic<bool> last_calls_wanted{true};
  /// The injector that makes calls fail on purpose; null: there is none.
  std::atomic<Injector*> injector{nullptr};
  /// The session that checks calls; null until the first call of the process.
  std::atomic<Session*> session{nullptr};
  /// Whether a stack may have more than its frames: Python functions, or ranges of NVTX. Stays
  /// true.
  std::atomic<bool> stacks_have_more{false};
  /// See shim/recorder/recorded_call.h.
  last_calls::Writer last_calls;
  /// Takes the emulator's findings about kernels; null: the emulator looks for none.
  std::atomic<KernelReports*> kernel_reports{nullptr};
};
inline constinit CallHooks g_hooks;

}  // namespace cuvmm::shim
