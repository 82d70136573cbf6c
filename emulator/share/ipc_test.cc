// SPDX-License-Identifier: Apache-2.0
// Legacy IPC within one process: which memory has a handle, and which does not.
#include <cstring>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class Ipc : public EmulatorTest {};

CUdeviceptr allocate(std::size_t size = 4096) {
  CUdeviceptr address = 0;
  EXPECT_OK(driver()(calls::MemAlloc{&address, size}));
  return address;
}
CUresult get(CUdeviceptr address, CUipcMemHandle* handle) {
  return driver()(calls::IpcGetMemHandle{handle, address});
}
bool same(const CUipcMemHandle& a, const CUipcMemHandle& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

TEST_F(Ipc, AHandleIsOfTheWholeAllocationAndRepeats) {
  const CUdeviceptr address = allocate();
  CUipcMemHandle one, two;
  ASSERT_OK(get(address, &one));
  ASSERT_OK(get(address + 100, &two));
  EXPECT_TRUE(same(one, two));
  EXPECT_OK(driver()(calls::MemFree{address}));
}

TEST_F(Ipc, NewMemoryAtTheSameAddressHasAnotherHandle) {
  CUipcMemHandle before, after;
  const CUdeviceptr address = allocate();
  ASSERT_OK(get(address, &before));
  ASSERT_OK(driver()(calls::MemFree{address}));
  const CUdeviceptr again = allocate();
  EXPECT_EQ(again, address) << "or the test shows nothing";
  ASSERT_OK(get(again, &after));
  EXPECT_FALSE(same(before, after));
  EXPECT_OK(driver()(calls::MemFree{again}));
}

TEST_F(Ipc, TheContentsSurviveTheFirstExport) {
  const CUdeviceptr address = allocate(100);
  ASSERT_OK(driver()(calls::MemsetD8{address, 9, 100}));
  CUipcMemHandle handle;
  ASSERT_OK(get(address, &handle));
  unsigned char byte = 0;
  EXPECT_OK(driver()(calls::MemcpyDtoH{&byte, address + 99, 1}));
  EXPECT_EQ(byte, 9);
  EXPECT_OK(driver()(calls::MemFree{address}));
}

TEST_F(Ipc, OnlyLiveMemoryOfCuMemAllocHasOne) {
  CUipcMemHandle handle;
  const CUdeviceptr freed = allocate();
  ASSERT_OK(driver()(calls::MemFree{freed}));
  const Mapped m = mapped();
  CUdeviceptr pooled = 0;
  ASSERT_OK(driver()(calls::MemAllocAsync{&pooled, 64, nullptr}));
  int local = 0;
  for (const CUdeviceptr address :
       {CUdeviceptr{0}, freed, m.address, pooled, reinterpret_cast<CUdeviceptr>(&local)}) {
    EXPECT_EQ(get(address, &handle), CUDA_ERROR_INVALID_VALUE) << std::hex << address;
  }
  EXPECT_OK(driver()(calls::MemFreeAsync{pooled, nullptr}));
  end(m);
}

TEST_F(Ipc, TheExporterCannotOpen) {
  const CUdeviceptr address = allocate();
  CUipcMemHandle handle;
  ASSERT_OK(get(address, &handle));
  CUdeviceptr opened = 7;
  EXPECT_EQ(driver()(calls::IpcOpenMemHandle{&opened, handle, 1}), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(driver()(calls::IpcCloseMemHandle{address}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(opened, 7u);
  EXPECT_OK(driver()(calls::MemFree{address}));
  // As on an H200: the process that made the handle counts, not whether the memory lives.
  EXPECT_EQ(driver()(calls::IpcOpenMemHandle{&opened, handle, 1}), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Ipc, EventsNeedTheirFlags) {
  CUipcEventHandle handle;
  CUevent event = nullptr;
  for (const unsigned flags : {unsigned{CU_EVENT_DEFAULT}, unsigned{CU_EVENT_DISABLE_TIMING},
                               unsigned{CU_EVENT_INTERPROCESS}}) {
    // Drivers refuse INTERPROCESS without DISABLE_TIMING when the event is created.
    if (driver()(calls::EventCreate{&event, flags}) != CUDA_SUCCESS) continue;
    EXPECT_EQ(driver()(calls::IpcGetEventHandle{&handle, event}), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_OK(driver()(calls::EventDestroy{event}));
  }
  ASSERT_OK(driver()(calls::EventCreate{&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING}));
  EXPECT_OK(driver()(calls::IpcGetEventHandle{&handle, event}));
  EXPECT_OK(driver()(calls::EventDestroy{event}));
  EXPECT_EQ(driver()(calls::IpcGetEventHandle{&handle, event}), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
