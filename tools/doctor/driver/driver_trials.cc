// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/driver/driver_trials.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tools/doctor/driver/trial_driver.h"
#include "tools/doctor/host/host.h"
#include "tools/doctor/host/limit_checks.h"

namespace cuvmm::doctor {

namespace {

constexpr CUmemAllocationHandleType kNoHandle = CU_MEM_HANDLE_TYPE_NONE;

std::size_t open_descriptors() { return Host().names("/proc/self/fd").size(); }

// "GPU-6375766d-6d00-8000-0000-000000000000", the form that NVML and CUDA_VISIBLE_DEVICES use.
std::string uuid_text(const CUuuid& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned>(uuid.bytes[i]) & 0xff);
  }
  return text;
}

// Reports the facts of a device. Returns the size of its memory in bytes; 0 if the driver gives no
// size.
std::uint64_t ask_device(TrialDriver& driver, int ordinal, const Reporter& say) {
  struct Question {
    const char* name;
    CUdevice_attribute attribute;
  };
  constexpr Question kQuestions[] = {
      {"compute-mode", CU_DEVICE_ATTRIBUTE_COMPUTE_MODE},
      {"vmm", CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED},
      {"posix", CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED},
      {"fabric", CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED},
      {"dma-buf", CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED},
      {"multicast", CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED},
  };
  const CUdevice device = driver.device(ordinal);
  char name[256] = "";
  if (driver(calls::DeviceGetName{.name = name, .len = sizeof name - 1, .dev = device}) ==
      CUDA_SUCCESS) {
    say.fact(device_key(ordinal) + ".name", std::string_view(name));
  }
  for (const Question& question : kQuestions) {
    if (const auto value = driver.attribute(question.attribute, device)) {
      say.fact(device_key(ordinal) + "." + question.name, *value);
    }
  }
  void* library = driver.loaded().library;
  CUuuid uuid{};
  if (auto* ask =
          reinterpret_cast<CUresult (*)(CUuuid*, CUdevice)>(dlsym(library, "cuDeviceGetUuid_v2"));
      ask && ask(&uuid, device) == CUDA_SUCCESS) {
    say.fact(device_key(ordinal) + ".uuid", uuid_text(uuid));
  }
  std::size_t memory = 0;
  if (auto* ask = reinterpret_cast<CUresult (*)(std::size_t*, CUdevice)>(
          dlsym(library, "cuDeviceTotalMem_v2"));
      ask && ask(&memory, device) == CUDA_SUCCESS) {
    say.fact(device_key(ordinal) + ".memory", static_cast<long long>(memory));
  }
  const CUmemAllocationProp prop = device_memory(device, kNoHandle);
  for (const bool minimum : {true, false}) {
    std::size_t size = 0;
    const CUresult code = driver(calls::MemGetAllocationGranularity{
        .granularity = &size,
        .prop = &prop,
        .option =
            minimum ? CU_MEM_ALLOC_GRANULARITY_MINIMUM : CU_MEM_ALLOC_GRANULARITY_RECOMMENDED});
    if (code == CUDA_SUCCESS) {
      say.fact(device_key(ordinal) + (minimum ? ".granularity" : ".recommended"),
               static_cast<long long>(size));
    } else {
      say.fact(device_key(ordinal) + ".granularity_code", static_cast<int>(code));
    }
  }
  return memory;
}

// Reserves as much address space as the devices' memory and usual programs need. After a success
// the size is doubled a few times, after a refusal it is halved. Each range is freed at once.
void try_reservations(TrialDriver& driver, const Reporter& say, std::uint64_t memory) {
  constexpr std::uint64_t kUnit = 2ull << 20;
  const std::uint64_t need = (std::max(memory, kUsualReservation) + kUnit - 1) / kUnit * kUnit;
  bool placed = false;
  const auto reserve = [&](std::uint64_t size) {
    CUdeviceptr address = 0;
    const CUresult code = driver(calls::MemAddressReserve{.ptr = &address, .size = size});
    if (code == CUDA_SUCCESS) driver(calls::MemAddressFree{.ptr = address, .size = size});
    if (code != CUDA_SUCCESS) say.fact("reserve", static_cast<int>(code));
    if (code == CUDA_SUCCESS && !std::exchange(placed, true)) {
      say.fact("reserved_at", static_cast<long long>(address));
    }
    return code == CUDA_SUCCESS;
  };
  std::uint64_t size = need;
  if (reserve(size)) {
    while (size < 4 * need && reserve(2 * size)) size *= 2;
  } else {
    do {
      size = size / 2 / kUnit * kUnit;
    } while (size > 0 && !reserve(size));
  }
  say.fact("reserved", static_cast<long long>(size));
}

CUresult map_and_allow(Granule& granule, CUdevice device) {
  CUresult code = granule.create(device, kNoHandle);
  if (code == CUDA_SUCCESS) code = granule.map();
  if (code == CUDA_SUCCESS) code = granule.allow(device);
  return code;
}

void try_peers(TrialDriver& driver, Granule& granule, int owner, const Reporter& say) {
  for (int other = 0; other < driver.devices(); ++other) {
    if (other == owner) continue;
    const std::string pair = fmt::format("peer.{}.{}", owner, other);
    int can = 0;
    const CUresult code = driver(calls::DeviceCanAccessPeer{
        .canAccessPeer = &can, .dev = driver.device(other), .peerDev = driver.device(owner)});
    if (code == CUDA_SUCCESS && !can) {
      say.fact(pair + ".unreachable", 1);
      continue;
    }
    driver.report(pair, code == CUDA_SUCCESS ? granule.allow(driver.device(other)) : code);
  }
}

CUresult export_dma_buf(TrialDriver& driver, const Granule& granule) {
  int fd = -1;
  const calls::MemGetHandleForAddressRange call{.handle = &fd,
                                                .dptr = granule.address(),
                                                .size = granule.size(),
                                                .handleType = CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD};
  const CUresult code = driver(call);
  if (code == CUDA_SUCCESS && fd >= 0) close(fd);
  return code;
}

}  // namespace

void ask_driver(const std::string& path, const Reporter& say) {
  const std::size_t before = open_descriptors();
  TrialDriver driver(path, say);
  if (!driver.loaded().error.empty()) return;
  say.fact("path", driver.loaded().path);
  say.fact("emulated", driver.loaded().emulated);
  int version = 0;
  if (driver(calls::DriverGetVersion{.version = &version}) == CUDA_SUCCESS) {
    say.fact("version", version);
  }
  if (!driver.started()) return;
  say.fact("descriptors", static_cast<long long>(open_descriptors() - before));
  std::uint64_t memory = 0;
  for (int i = 0; i < driver.devices(); ++i) memory += ask_device(driver, i, say);
  if (driver.devices() > 0) try_reservations(driver, say, memory);
}

void try_mapping(const std::string& path, const Reporter& say) {
  TrialDriver driver(path, say);
  for (int i = 0; i < driver.devices(); ++i) {
    Granule granule(driver);
    const CUresult code = map_and_allow(granule, driver.device(i));
    if (code != CUDA_SUCCESS) {
      driver.report(device_key(i), code);
      continue;
    }
    try_peers(driver, granule, i, say);
    driver.report(device_key(i), granule.give_back());
  }
}

void try_dma_buf(const std::string& path, const Reporter& say) {
  TrialDriver driver(path, say);
  for (int i = 0; i < driver.devices(); ++i) {
    const CUdevice device = driver.device(i);
    Granule granule(driver);
    CUresult code = map_and_allow(granule, device);
    if (code == CUDA_SUCCESS) code = export_dma_buf(driver, granule);
    CUcontext context = nullptr;
    if (code == CUDA_ERROR_INVALID_CONTEXT &&
        driver(calls::DevicePrimaryCtxRetain{.ctx = &context, .dev = device}) == CUDA_SUCCESS &&
        driver(calls::CtxSetCurrent{.ctx = context}) == CUDA_SUCCESS) {
      code = export_dma_buf(driver, granule);
    }
    driver.report(device_key(i), code);
  }
}

}  // namespace cuvmm::doctor
