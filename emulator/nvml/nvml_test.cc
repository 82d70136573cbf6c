// SPDX-License-Identifier: Apache-2.0
// libnvidia-ml as a program finds it, beside the emulator's libcuda: both describe equal devices.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "emulator/nvml/abi.h"
#include "emulator/nvml/error.h"

namespace cuvmm::nvml {
namespace {

using Device = const void*;
constexpr unsigned kDevices = 20;  // more devices than PCI buses with the first spacing

void* opened(const char* path) {
  setenv("CUVMM_DEVICES", std::to_string(kDevices).c_str(), 1);
  setenv("CUVMM_DEVICE_MEMORY", "1G", 1);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) std::fprintf(stderr, "%s\n", dlerror());
  return library;
}

template <class... Args>
int nvml(const char* name, Args... args) {
  static void* const library = opened(CUVMM_NVML_PATH);
  const auto function = reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
  EXPECT_NE(function, nullptr) << name;
  return function ? function(args...) : kFunctionNotFound;
}

template <class... Args>
CUresult cuda(const char* name, Args... args) {
  static void* const library = opened(CUVMM_EMULATOR_PATH);
  const auto function = reinterpret_cast<CUresult (*)(Args...)>(dlsym(library, name));
  EXPECT_NE(function, nullptr) << name;
  return function ? function(args...) : CUDA_ERROR_NOT_FOUND;
}

class Nvml : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(nvml("nvmlInit_v2"), kSuccess); }
  void TearDown() override { EXPECT_EQ(nvml("nvmlShutdown"), kSuccess); }
  static Device device(unsigned index) {
    Device found = nullptr;
    EXPECT_EQ(nvml("nvmlDeviceGetHandleByIndex_v2", index, &found), kSuccess);
    return found;
  }
};

TEST(NvmlLife, NothingIsAnsweredBeforeInitOrAfterTheLastShutdown) {
  unsigned count = 0;
  EXPECT_EQ(nvml("nvmlDeviceGetCount_v2", &count), kUninitialized);
  EXPECT_EQ(nvml("nvmlDeviceGetMigMode", Device{}, &count, &count), kUninitialized);
  EXPECT_EQ(nvml("nvmlShutdown"), kUninitialized);
  EXPECT_EQ(nvml("nvmlInit"), kSuccess);
  EXPECT_EQ(nvml("nvmlInitWithFlags", 0u), kSuccess);
  EXPECT_EQ(nvml("nvmlShutdown"), kSuccess);
  EXPECT_EQ(nvml("nvmlDeviceGetCount", &count), kSuccess);
  EXPECT_EQ(count, kDevices);
  EXPECT_EQ(nvml("nvmlShutdown"), kSuccess);
  EXPECT_EQ(nvml("nvmlDeviceGetCount", &count), kUninitialized);
  EXPECT_EQ(nvml("nvmlInitWithFlags", 0x100u), kInvalidArgument);
}

TEST_F(Nvml, DevicesAreFoundByEveryNameThatLibcudaHasForThem) {
  ASSERT_EQ(cuda("cuInit", 0u), CUDA_SUCCESS);
  int cuda_count = 0;
  ASSERT_EQ(cuda("cuDeviceGetCount", &cuda_count), CUDA_SUCCESS);
  ASSERT_EQ(cuda_count, static_cast<int>(kDevices));
  for (unsigned i = 0; i < kDevices; ++i) {
    const int ordinal = static_cast<int>(i);
    Device found = nullptr;
    CUuuid uuid{};
    ASSERT_EQ(cuda("cuDeviceGetUuid_v2", &uuid, ordinal), CUDA_SUCCESS);
    Uuid wanted{};
    wanted.version = version_word<Uuid>(1);
    wanted.type = 2;
    std::memcpy(wanted.value.bytes, uuid.bytes, sizeof uuid.bytes);
    EXPECT_EQ(nvml("nvmlDeviceGetHandleByUUIDV", &wanted, &found), kSuccess);
    EXPECT_EQ(found, device(i));
    char text[96] = "";
    EXPECT_EQ(nvml("nvmlDeviceGetUUID", device(i), text, 96u), kSuccess);
    EXPECT_EQ(nvml("nvmlDeviceGetHandleByUUID", static_cast<const char*>(text), &found), kSuccess);
    EXPECT_EQ(found, device(i)) << text;
    char bus[32] = "";
    ASSERT_EQ(cuda("cuDeviceGetPCIBusId", bus, 32, ordinal), CUDA_SUCCESS);
    EXPECT_EQ(nvml("nvmlDeviceGetHandleByPciBusId_v2", static_cast<const char*>(bus), &found),
              kSuccess);
    EXPECT_EQ(found, device(i)) << bus;
    PciInfo pci{};
    EXPECT_EQ(nvml("nvmlDeviceGetPciInfo_v3", device(i), &pci), kSuccess);
    EXPECT_EQ("0000" + std::string(bus), pci.bus_id);
    EXPECT_EQ(std::string(bus), pci.bus_id_legacy);
    unsigned index = 99;
    EXPECT_EQ(nvml("nvmlDeviceGetIndex", device(i), &index), kSuccess);
    EXPECT_EQ(index, i);
  }
}

TEST_F(Nvml, WrongNamesAreRefusedByTheirKind) {
  Device found = nullptr;
  unsigned index = 0;
  EXPECT_EQ(nvml("nvmlDeviceGetHandleByIndex_v2", kDevices, &found), kInvalidArgument);
  EXPECT_EQ(nvml("nvmlDeviceGetHandleByUUID", "GPU-0", &found), kNotFound);
  EXPECT_EQ(nvml("nvmlDeviceGetHandleByPciBusId_v2", "0000:FF:00.0", &found), kNotFound);
  EXPECT_EQ(nvml("nvmlDeviceGetHandleByPciBusId_v2", "bus", &found), kInvalidArgument);
  EXPECT_EQ(nvml("nvmlDeviceGetIndex", Device{&found}, &index), kInvalidArgument);
  EXPECT_EQ(nvml("nvmlDeviceGetIndex", Device{}, &index), kInvalidArgument);
  char small[4];
  EXPECT_EQ(nvml("nvmlDeviceGetUUID", device(0), small, 4u), kInsufficientSize);
}

TEST_F(Nvml, VersionsAndNamesAreTheProfiles) {
  char text[96] = "";
  int version = 0, cuda_version = 0;
  EXPECT_EQ(nvml("nvmlSystemGetDriverVersion", text, 96u), kSuccess);
  EXPECT_STREQ(text, "580.159.04");
  EXPECT_EQ(nvml("nvmlDeviceGetName", device(1), text, 96u), kSuccess);
  EXPECT_STREQ(text, "NVIDIA H200");
  EXPECT_EQ(nvml("nvmlSystemGetCudaDriverVersion_v2", &version), kSuccess);
  ASSERT_EQ(cuda("cuDriverGetVersion", &cuda_version), CUDA_SUCCESS);
  EXPECT_EQ(version, cuda_version);
  int major = 0, minor = -1;
  EXPECT_EQ(nvml("nvmlDeviceGetCudaComputeCapability", device(0), &major, &minor), kSuccess);
  EXPECT_EQ(major * 10 + minor, 90);
}

TEST_F(Nvml, MemoryInUseIsWhatLibcudaGaveOut) {
  ASSERT_EQ(cuda("cuInit", 0u), CUDA_SUCCESS);
  CUcontext context = nullptr;
  ASSERT_EQ(cuda("cuDevicePrimaryCtxRetain", &context, 2), CUDA_SUCCESS);
  ASSERT_EQ(cuda("cuCtxSetCurrent", context), CUDA_SUCCESS);
  std::size_t unused = 0, total = 0;
  CUdeviceptr address = 0;
  ASSERT_EQ(cuda("cuMemAlloc_v2", &address, std::size_t{32} << 20), CUDA_SUCCESS);
  ASSERT_EQ(cuda("cuMemGetInfo_v2", &unused, &total), CUDA_SUCCESS);
  Memory memory{};
  EXPECT_EQ(nvml("nvmlDeviceGetMemoryInfo", device(2), &memory), kSuccess);
  EXPECT_EQ(memory.total, total);
  EXPECT_EQ(memory.free, unused);
  EXPECT_EQ(memory.used, total - unused);
  EXPECT_GE(memory.used, std::uint64_t{32} << 20);
  EXPECT_EQ(nvml("nvmlDeviceGetMemoryInfo", device(3), &memory), kSuccess);
  EXPECT_EQ(memory.used, 0u);
  MemoryV2 later{};
  EXPECT_EQ(nvml("nvmlDeviceGetMemoryInfo_v2", device(2), &later), kArgumentVersionMismatch);
  later.version = 0x02000028;
  EXPECT_EQ(nvml("nvmlDeviceGetMemoryInfo_v2", device(2), &later), kSuccess);
  EXPECT_EQ(later.free, unused);
  EXPECT_EQ(later.reserved, 0u);
  unsigned count = 0;
  ProcessInfoV1 first[2]{};
  ProcessInfo process{};
  EXPECT_EQ(nvml("nvmlDeviceGetComputeRunningProcesses", device(2), &count,
                 static_cast<ProcessInfoV1*>(nullptr)),
            kInsufficientSize);
  EXPECT_EQ(count, 1u);
  count = 2;
  EXPECT_EQ(nvml("nvmlDeviceGetComputeRunningProcesses", device(2), &count, first), kSuccess);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(first[0].process, static_cast<unsigned>(getpid()));
  EXPECT_EQ(first[0].used, memory.total - unused);
  EXPECT_EQ(nvml("nvmlDeviceGetComputeRunningProcesses_v3", device(2), &count, &process), kSuccess);
  EXPECT_EQ(process.process, static_cast<unsigned>(getpid()));
  EXPECT_EQ(process.gpu_instance, 0xFFFFFFFFu);
  EXPECT_EQ(nvml("nvmlDeviceGetComputeRunningProcesses_v3", device(3), &count, &process), kSuccess);
  EXPECT_EQ(count, 0u);
  ASSERT_EQ(cuda("cuMemFree_v2", address), CUDA_SUCCESS);
  ASSERT_EQ(cuda("cuDevicePrimaryCtxRelease_v2", 2), CUDA_SUCCESS);
}

TEST_F(Nvml, PeersAndFabricAreAsLibcudaHasThem) {
  int status = -1;
  for (int what = 0; what <= 4; ++what) {
    EXPECT_EQ(nvml("nvmlDeviceGetP2PStatus", device(0), device(1), what, &status), kSuccess);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(nvml("nvmlDeviceGetP2PStatus", device(0), device(1), 9, &status), kInvalidArgument);
  // NCCL 2.28 asks about each device and itself, and gives up if the answer is an error.
  EXPECT_EQ(nvml("nvmlDeviceGetP2PStatus", device(0), device(0), 0, &status), kSuccess);
  EXPECT_EQ(status, 5);

  int active = 0;
  unsigned yes = 0;
  EXPECT_EQ(nvml("nvmlDeviceGetNvLinkState", device(0), 17u, &active), kSuccess);
  EXPECT_EQ(active, 1);
  EXPECT_EQ(nvml("nvmlDeviceGetNvLinkState", device(0), 18u, &active), kInvalidArgument);
  EXPECT_EQ(nvml("nvmlDeviceGetNvLinkCapability", device(0), 0u, 0, &yes), kSuccess);
  EXPECT_EQ(yes, 1u);
  EXPECT_EQ(nvml("nvmlDeviceGetNvLinkCapability", device(0), 0u, 6, &yes), kInvalidArgument);
  PciInfo remote{};
  EXPECT_EQ(nvml("nvmlDeviceGetNvLinkRemotePciInfo_v2", device(0), 0u, &remote), kSuccess);
  EXPECT_STREQ(remote.bus_id, "0000FFFF:FF:00.0");
  FieldValue fields[3] = {};
  fields[0].field = 91;
  fields[1].field = fields[2].field = 165;
  fields[1].scope = 17;
  fields[2].scope = 18;
  EXPECT_EQ(nvml("nvmlDeviceGetFieldValues", device(0), 3, &fields[0]), kSuccess);
  EXPECT_EQ(fields[0].value, 18u);
  EXPECT_EQ(fields[1].error, kSuccess);
  EXPECT_EQ(fields[1].value, 1u);
  EXPECT_EQ(fields[2].error, kNotSupported);
  PciInfoLegacy first_form{};
  EXPECT_EQ(nvml("nvmlDeviceGetNvLinkRemotePciInfo", device(0), 0u, &first_form), kSuccess);
  EXPECT_STREQ(first_form.bus_id, "FFFF:FF:00.0");

  ASSERT_EQ(cuda("cuInit", 0u), CUDA_SUCCESS);
  int handles = -1;
  ASSERT_EQ(
      cuda("cuDeviceGetAttribute", &handles, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0),
      CUDA_SUCCESS);
  const int wanted = handles ? 3 : 0;
  FabricInfo first{};
  EXPECT_EQ(nvml("nvmlDeviceGetGpuFabricInfo", device(0), &first), kSuccess);
  EXPECT_EQ(first.state, wanted);
  FabricInfoV3 later{};
  later.v2.version = version_word<FabricInfoV2>(2);
  EXPECT_EQ(nvml("nvmlDeviceGetGpuFabricInfoV", device(0), &later), kSuccess);
  EXPECT_EQ(later.v2.state, wanted);
  later.v2.version = version_word<FabricInfoV3>(3);
  EXPECT_EQ(nvml("nvmlDeviceGetGpuFabricInfoV", device(0), &later), kSuccess);
  EXPECT_EQ(later.v2.version, version_word<FabricInfoV3>(3));
  later.v2.version = 7;
  EXPECT_EQ(nvml("nvmlDeviceGetGpuFabricInfoV", device(0), &later), kArgumentVersionMismatch);
}

TEST_F(Nvml, WhatItDoesNotHaveIsNotSupported) {
  unsigned a = 0, b = 0;
  EXPECT_EQ(nvml("nvmlDeviceGetMigMode", device(0), &a, &b), kNotSupported);
  EXPECT_EQ(nvml("nvmlDeviceGetTemperature", device(0), 0, &a), kNotSupported);
  EXPECT_EQ(nvml("nvmlDeviceGetNvLinkRemoteDeviceType", device(0), 0u, &a), kNotSupported);
  EXPECT_EQ(nvml("nvmlDeviceGetGraphicsRunningProcesses_v3", device(0), &a, &b), kNotSupported);
}

TEST(NvmlErrors, HaveWords) {
  void* library = opened(CUVMM_NVML_PATH);
  const auto words = reinterpret_cast<const char* (*)(int)>(dlsym(library, "nvmlErrorString"));
  EXPECT_STREQ(words(kNotSupported), "Not Supported");
  EXPECT_STREQ(words(12345), "Unknown Error");
}

}  // namespace
}  // namespace cuvmm::nvml
