// SPDX-License-Identifier: Apache-2.0
#include "fuzz/machine/peer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "fuzz/machine/remote_call.h"

namespace cuvmm::fuzz {
namespace {

// A real machine may not recover from such a call.
TEST(Peer, CannotBeAskedForMulticast) {
  each_remote_call(
      []<class CallStruct> { EXPECT_FALSE(can_multicast_call<CallStruct>) << CallStruct::kName; });
  Peer peer(CUVMM_EMULATOR);
  const Driver driver = peer.driver();
  EXPECT_NE(driver.function<calls::MemCreate>(), nullptr);
  for (const SymbolInfo& info : symbols()) {
    if (!can_multicast(info.name)) continue;
    EXPECT_EQ(driver.get(info.symbol), nullptr) << info.name;
  }
}

// Forked for each test, before this process uses a driver.
TEST(Peer, ADescriptorCrossesBothWaysAndADeathIsNoticed) {
  Peer peer(CUVMM_EMULATOR);
  const Driver driver = peer.driver();
  ASSERT_EQ(driver(calls::Init{0}), CUDA_SUCCESS);
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle handle = 0, imported = 0;
  ASSERT_EQ(driver(calls::MemCreate{&handle, 2 << 20, &prop, 0}), CUDA_SUCCESS);
  int fd = -1;
  ASSERT_EQ(driver(calls::MemExportToShareableHandle{&fd, handle,
                                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0}),
            CUDA_SUCCESS);
  ASSERT_GE(fd, 0);
  void* const number = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd));
  const calls::MemImportFromShareableHandle import{&imported, number,
                                                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
  EXPECT_EQ(driver(import), CUDA_SUCCESS);
  EXPECT_NE(imported, handle);
  close(fd);
  EXPECT_NE(driver(import), CUDA_SUCCESS) << "the descriptor is closed";
  EXPECT_EQ(peer.lost(), "");
  kill(peer.pid(), SIGSEGV);
  EXPECT_EQ(driver(calls::MemRelease{handle}), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(peer.lost(), "signal:SIGSEGV");
}

}  // namespace
}  // namespace cuvmm::fuzz
