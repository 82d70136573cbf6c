// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/nvml/nvml_facts.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdint>

namespace cuvmm::doctor {

namespace {

// NVML's functions and structures, written anew for cuvmm. Function names, structure layouts and
// numbers are NVML's ABI ("NVML API reference").
using Device = void*;
constexpr int kSuccess = 0;
constexpr int kVersionMismatch = 25;  // NVML_ERROR_ARGUMENT_VERSION_MISMATCH

struct FabricInfo {  // nvmlGpuFabricInfo_t
  unsigned char cluster[16];
  int status;
  std::uint32_t clique;
  std::uint8_t state;
};
struct FabricInfoV2 {  // nvmlGpuFabricInfo_v2_t
  unsigned version = sizeof(FabricInfoV2) | 2u << 24;
  unsigned char cluster[16] = {};
  int status = 0;
  std::uint32_t clique = 0;
  std::uint8_t state = 0;
  std::uint32_t health = 0;
};
static_assert(sizeof(FabricInfoV2) == 36);
struct ConfidentialState {  // nvmlConfComputeSystemState_t
  unsigned environment, feature, tools;
};

template <class Function>
Function* look_up(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

std::string hex(const unsigned char (&bytes)[16]) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

void ask_fabric(void* library, Device device, const std::string& key, const Reporter& say) {
  const auto say_all = [&](const auto& info) {
    say.fact(key + ".state", info.state);
    say.fact(key + ".status", info.status);
    say.fact(key + ".clique", info.clique);
    say.fact(key + ".cluster", hex(info.cluster));
  };
  say.step("nvmlDeviceGetGpuFabricInfo");
  auto* newer = look_up<int(Device, void*)>(library, "nvmlDeviceGetGpuFabricInfoV");
  auto* older = look_up<int(Device, FabricInfo*)>(library, "nvmlDeviceGetGpuFabricInfo");
  if (!newer && !older) return say.fact(key, "missing");
  FabricInfoV2 info;
  int code = newer ? newer(device, &info) : kVersionMismatch;
  if (code == kSuccess) {
    say_all(info);
    say.fact(key + ".health", info.health);
  } else if (code == kVersionMismatch && older) {
    FabricInfo old{};
    code = older(device, &old);
    if (code == kSuccess) say_all(old);
  }
  say.fact(key, code);
}

void ask_modes(void* library, Device device, const std::string& key, const Reporter& say) {
  say.step("nvmlDeviceGetMigMode");
  if (auto* ask = look_up<int(Device, unsigned*, unsigned*)>(library, "nvmlDeviceGetMigMode")) {
    unsigned current = 0, pending = 0;
    const int code = ask(device, &current, &pending);
    if (code == kSuccess) say.fact(key + ".mig.current", current);
    say.fact(key + ".mig", code);
  } else {
    say.fact(key + ".mig", "missing");
  }
  say.step("nvmlDeviceGetVirtualizationMode");
  if (auto* ask = look_up<int(Device, int*)>(library, "nvmlDeviceGetVirtualizationMode")) {
    int mode = 0;
    const int code = ask(device, &mode);
    if (code == kSuccess) say.fact(key + ".virtualization.mode", mode);
    say.fact(key + ".virtualization", code);
  } else {
    say.fact(key + ".virtualization", "missing");
  }
}

void ask_confidential(void* library, const Reporter& say) {
  say.step("nvmlSystemGetConfComputeState");
  auto* ask = look_up<int(ConfidentialState*)>(library, "nvmlSystemGetConfComputeState");
  if (!ask) return say.fact("confidential", "missing");
  ConfidentialState state{};
  const int code = ask(&state);
  if (code == kSuccess) say.fact("confidential.feature", state.feature);
  say.fact("confidential", code);
}

}  // namespace

void ask_nvml(const std::string& path, const Reporter& say) {
  say.step("dlopen");
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return say.fact("load_error", dlerror());
  auto* init = look_up<int()>(library, "nvmlInit_v2");
  auto* shutdown = look_up<int()>(library, "nvmlShutdown");
  auto* count_devices = look_up<int(unsigned*)>(library, "nvmlDeviceGetCount_v2");
  auto* by_index = look_up<int(unsigned, Device*)>(library, "nvmlDeviceGetHandleByIndex_v2");
  if (!init || !count_devices || !by_index) {
    return say.fact("load_error", path + " lacks nvmlInit_v2 or other functions of NVML 4");
  }
  say.step("nvmlInit_v2");
  const int code = init();
  say.fact("init", code);
  if (code != kSuccess) return;
  char version[80] = "";
  if (auto* ask = look_up<int(char*, unsigned)>(library, "nvmlSystemGetDriverVersion");
      ask && ask(version, sizeof version) == kSuccess) {
    say.fact("version", std::string_view(version));
  }
  unsigned count = 0;
  say.step("nvmlDeviceGetCount_v2");
  if (count_devices(&count) == kSuccess) {
    say.fact("count", count);
    for (unsigned i = 0; i < count; ++i) {
      const std::string key = "device." + std::to_string(i);
      Device device = nullptr;
      say.step("nvmlDeviceGetHandleByIndex_v2");
      if (const int error = by_index(i, &device); error != kSuccess) {
        for (const char* part : {".fabric", ".mig", ".virtualization"}) say.fact(key + part, error);
        continue;
      }
      ask_fabric(library, device, key + ".fabric", say);
      ask_modes(library, device, key, say);
    }
  }
  ask_confidential(library, say);
  if (shutdown) shutdown();
}

int nvml_devices(const Ended& answers) {
  return static_cast<int>(answers.facts.number("count").value_or(-1));
}

}  // namespace cuvmm::doctor
