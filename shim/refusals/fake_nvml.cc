// SPDX-License-Identifier: Apache-2.0
// An NVML for tests: one device, and the processes that use it. Never answers when it is asked for
// the device "hangs".
#include <unistd.h>

#include <cstring>

namespace {
int g_device;
struct ProcessInfo {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};
constexpr unsigned long long kNotSaid = ~0ull;
}  // namespace

#define FAKE extern "C" __attribute__((visibility("default"))) int

FAKE nvmlInit_v2() { return 0; }
FAKE nvmlShutdown() { return 0; }
FAKE nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  while (std::strcmp(bus_id, "hangs") == 0) ::pause();
  if (std::strcmp(bus_id, "0000:1B:00.0") != 0) return 6;  // NVML_ERROR_NOT_FOUND
  *device = &g_device;
  return 0;
}
FAKE nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, ProcessInfo* infos) {
  infos[0] = {4711, 3u << 20, 0, 0};
  infos[1] = {4712, kNotSaid, 0, 0};
  infos[2] = {static_cast<unsigned>(::getpid()), 1u << 20, 0, 0};
  *count = 3;
  return 0;
}
// This NVML lacks the newer form of this function.
FAKE nvmlDeviceGetGraphicsRunningProcesses_v2(void*, unsigned* count, ProcessInfo* infos) {
  infos[0] = {4711, 5u << 20, 0, 0};
  *count = 1;
  return 0;
}
