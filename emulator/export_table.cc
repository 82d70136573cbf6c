// cuGetExportTable: the driver's private interfaces, of which the emulator has none.
#include <atomic>
#include <cstring>

#include "emulator/export.h"
#include "emulator/life.h"
#include "emulator/say.h"

namespace cuvmm::emulator {

namespace {
// The table that NVIDIA's own runtime library, and nothing else, asks for at start-up.
constexpr unsigned char kRuntimeTable[16] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                             0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};
}  // namespace

CUVMM_DRIVER_FUNCTION(cuGetExportTable, const void** table, const CUuuid* id) {
  if (ended()) return CUDA_ERROR_DEINITIALIZED;
  if (!table || !id) return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  static std::atomic<bool> said{false};
  if (std::memcmp(id->bytes, kRuntimeTable, sizeof kRuntimeTable) == 0 && !said.exchange(true)) {
    complain(
        "this program carries NVIDIA's CUDA runtime, which needs a real driver; relink it with "
        "-cudart shared and put cuvmm's libcudart first, or use the driver API");
  }
  return CUDA_ERROR_NOT_FOUND;
}

}  // namespace cuvmm::emulator
