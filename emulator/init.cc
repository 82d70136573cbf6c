// cuInit, the version, and what tells the emulator from a driver.
#include "emulator/base.h"
#include "emulator/entry.h"
#include "emulator/export.h"

extern "C" __attribute__((visibility("default"))) const char* cuvmmEmulatorVersion() {
  return CUVMM_VERSION;
}

namespace cuvmm::emulator {

CUresult run_base(const calls::Init& call) noexcept {
  if (ended()) return CUDA_ERROR_DEINITIALIZED;
  if (call.flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Emulator& e = Emulator::get();
  try {
    if (const CUresult answer = gone(); answer != CUDA_SUCCESS) return answer;
    const std::lock_guard lock(e.mutex);
    return e.initialize();
  } catch (...) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

// Answered before cuInit too, as drivers do; the profile is read for it then.
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
