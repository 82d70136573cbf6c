// SPDX-License-Identifier: Apache-2.0
// cuInit, the version, the functions that tell the emulator from a driver, and those that the
// emulator's libnvidia-ml calls.
#include "emulator/base/device_identity.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"

extern "C" {
__attribute__((visibility("default"))) const char* cuvmmEmulatorVersion();
/// Bytes of a device, by the machine's number, that this process holds; 0 where the process does
/// not use the driver, or has ended it.
__attribute__((visibility("default"))) std::uint64_t cuvmmEmulatorUsedMemory(int device);
}

const char* cuvmmEmulatorVersion() { return CUVMM_VERSION; }

namespace cuvmm::emulator {

CUresult run_base(const calls::Init& call) noexcept {
  if (ended()) return CUDA_ERROR_DEINITIALIZED;
  if (call.flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Emulator& e = Emulator::get();
  try {
    if (const CUresult answer = end_of_life(); answer != CUDA_SUCCESS) return answer;
    const std::lock_guard lock(e.mutex);
    return e.initialize();
  } catch (...) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

// Works before cuInit too, as on a driver; the profile is then read for it.
CUresult run_base(const calls::DriverGetVersion& call) noexcept {
  if (ended()) return CUDA_ERROR_DEINITIALIZED;
  if (!call.version) return CUDA_ERROR_INVALID_VALUE;
  try {
    return Emulator::get().driver_version(*call.version);
  } catch (...) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

}  // namespace cuvmm::emulator

std::uint64_t cuvmmEmulatorUsedMemory(int device) {
  using namespace cuvmm::emulator;
  if (!ready()) return 0;
  Emulator& e = Emulator::get();
  const std::lock_guard lock(e.mutex);
  const int own = g_visible.own_of_host(device);
  return e.valid_device(own) ? e.devices.used(own) : 0;
}
