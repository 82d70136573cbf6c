// SPDX-License-Identifier: Apache-2.0
// A stand-in for NVML in tests. It shows two GPUs. On the second GPU the fabric is not set up yet
// and MIG is on; confidential computing is on. The library exports only the older
// nvmlDeviceGetGpuFabricInfo, and no nvmlDeviceGetVirtualizationMode.
#include <cstdint>
#include <cstdio>

namespace {
int g_devices[2];
int index_of(const void* device) { return device == &g_devices[1]; }
struct FabricInfo {
  unsigned char cluster[16];
  int status;
  std::uint32_t clique;
  std::uint8_t state;
};
}  // namespace

#define FAKE extern "C" __attribute__((visibility("default"))) int

FAKE nvmlInit_v2() { return 0; }
FAKE nvmlShutdown() { return 0; }
FAKE nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
FAKE nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &g_devices[index];
  return 0;
}
FAKE nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::snprintf(text, size, "1.2.3");
  return 0;
}
FAKE nvmlDeviceGetGpuFabricInfo(void* device, FabricInfo* info) {
  *info = {};
  info->state = index_of(device) == 1 ? 2 : 3;
  return 0;
}
FAKE nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  *current = *pending = static_cast<unsigned>(index_of(device));
  return 0;
}
FAKE nvmlSystemGetConfComputeState(unsigned (*state)[3]) {
  (*state)[0] = 2;
  (*state)[1] = 1;
  (*state)[2] = 0;
  return 0;
}
