// SPDX-License-Identifier: Apache-2.0
// Tests of the built libcuda: loaded as a program loads it, and called through the driver table.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "api/driver/expect_ok.h"
#include "api/sizes.h"
#include "emulator/core/export.h"

namespace cuvmm::emulator::testing {

/// The emulator under test, loaded once per process; not initialised yet.
inline LoadedDriver& library() {
  static LoadedDriver loaded = [] {
    setenv("CUVMM_FAULTS", "context", 0);  // a test that loses its context shall not end the others
    return load_driver(CUVMM_EMULATOR_PATH);
  }();
  return loaded;
}
inline const Driver& driver() { return library().driver; }

/// A function that is not in the driver table, by its symbol.
template <class Function>
Function* symbol(const char* name) {
  auto* function = reinterpret_cast<Function*>(dlsym(library().library, name));
  EXPECT_NE(function, nullptr) << name;
  return function;
}

inline CUmemAllocationProp properties(int device = 0, unsigned handle_types = 0) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  prop.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(handle_types);
  return prop;
}

inline CUmemAccessDesc access(int device = 0, int flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
                              CUmemLocationType type = CU_MEM_LOCATION_TYPE_DEVICE) {
  CUmemAccessDesc desc{};
  desc.location.type = type;
  desc.location.id = device;
  desc.flags = static_cast<CUmemAccess_flags>(flags);
  return desc;
}

inline CUmemGenericAllocationHandle create(std::size_t size, const CUmemAllocationProp& prop) {
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_OK(driver()(calls::MemCreate{&handle, size, &prop, 0}));
  return handle;
}

inline CUdeviceptr reserve(std::size_t size) {
  CUdeviceptr address = 0;
  EXPECT_OK(driver()(calls::MemAddressReserve{&address, size, 0, 0, 0}));
  return address;
}

inline CUresult map(CUdeviceptr address, std::size_t size, CUmemGenericAllocationHandle handle) {
  return driver()(calls::MemMap{address, size, 0, handle, 0});
}

inline CUresult set_access(CUdeviceptr address, std::size_t size, const CUmemAccessDesc& desc) {
  return driver()(calls::MemSetAccess{address, size, &desc, 1});
}

/// An allocation mapped at a new address, for device 0 to read and write.
struct Mapped {
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  std::size_t size = 0;
};
inline Mapped mapped(std::size_t size = kGranule, const CUmemAllocationProp& prop = properties()) {
  Mapped m{reserve(size), create(size, prop), size};
  EXPECT_OK(map(m.address, size, m.handle));
  EXPECT_OK(set_access(m.address, size, access()));
  return m;
}
inline void end(const Mapped& m) {
  EXPECT_OK(driver()(calls::MemUnmap{m.address, m.size}));
  EXPECT_OK(driver()(calls::MemRelease{m.handle}));
  EXPECT_OK(driver()(calls::MemAddressFree{m.address, m.size}));
}

/// Makes the primary context of a device current to this thread.
inline CUcontext use_device(int device) {
  CUcontext context = nullptr;
  EXPECT_OK(driver()(calls::DevicePrimaryCtxRetain{&context, device}));
  EXPECT_OK(driver()(calls::CtxSetCurrent{context}));
  return context;
}

/// A new context of a device, current to this thread until the object ends. For tests that lose the
/// context.
class OwnContext {
 public:
  explicit OwnContext(int device = 0) {
    EXPECT_EQ(
        symbol<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2")(&context_, 0, device),
        CUDA_SUCCESS);
  }
  OwnContext(const OwnContext&) = delete;
  OwnContext& operator=(const OwnContext&) = delete;
  ~OwnContext() { EXPECT_EQ(driver()(calls::CtxDestroy{context_}), CUDA_SUCCESS); }
  CUcontext handle() const { return context_; }

 private:
  CUcontext context_ = nullptr;
};

/// The text that `body` makes the emulator print on stderr. Uses a pipe, because the emulator
/// prints nothing into a file that took descriptor 2 later, as gtest's own capture does.
template <class Body>
std::string stderr_of(Body&& body) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const int before = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  close(ends[1]);
  body();
  dup2(before, STDERR_FILENO);
  close(before);
  std::string all;
  char buffer[512];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
    all.append(buffer, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  return all;
}

/// Tests with the emulator initialised and device 0 current.
class EmulatorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(library().error, "");
    ASSERT_TRUE(library().emulated);
    ASSERT_OK(driver()(calls::Init{0}));
    context_ = use_device(0);
  }
  CUcontext context_ = nullptr;
};

}  // namespace cuvmm::emulator::testing
