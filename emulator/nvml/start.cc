// SPDX-License-Identifier: Apache-2.0
// nvmlInit and nvmlShutdown, which count starts.
#include "emulator/nvml/start.h"

#include <atomic>

#include "emulator/base/export.h"
#include "emulator/base/say.h"
#include "emulator/nvml/error.h"
#include "emulator/nvml/machine.h"

namespace cuvmm::nvml {

namespace {

std::atomic<unsigned> g_starts{0};

Error start() noexcept {
  return anytime([](const Machine& machine) -> Error {
    if (!machine.error().empty()) {
      emulator::complain(machine.error());
      return kDriverNotLoaded;
    }
    ++g_starts;
    return kSuccess;
  });
}

}  // namespace

bool started() { return g_starts.load() > 0; }

CUVMM_EXPORT(Error, nvmlInit_v2) { return start(); }
CUVMM_EXPORT_ALIAS(nvmlInit, nvmlInit_v2);

CUVMM_EXPORT(Error, nvmlInitWithFlags, unsigned flags) {
  constexpr unsigned kKnown = 7;  // flags: no GPUs, no attach, force
  return flags & ~kKnown ? kInvalidArgument : start();
}

CUVMM_EXPORT(Error, nvmlShutdown) {
  for (unsigned starts = g_starts.load(); starts > 0;) {
    if (g_starts.compare_exchange_weak(starts, starts - 1)) return kSuccess;
  }
  return kUninitialized;
}

}  // namespace cuvmm::nvml
