// SPDX-License-Identifier: Apache-2.0
// Fabric handles across processes: of memory, and of a multicast object.
#include <cstring>

#include "emulator/share/process_testing.h"

namespace cuvmm::emulator::testing {
namespace {

using Handle = CUmemGenericAllocationHandle;

CUresult export_fabric(Handle handle, CUmemFabricHandle& out) {
  return driver()(calls::MemExportToShareableHandle{&out, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0});
}
CUresult import_fabric(const CUmemFabricHandle& bytes, Handle& out) {
  return driver()(calls::MemImportFromShareableHandle{&out, const_cast<CUmemFabricHandle*>(&bytes),
                                                      CU_MEM_HANDLE_TYPE_FABRIC});
}
Handle create_fabric() {
  CUmemAllocationProp prop = properties(0, 1);
  prop.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(
      CU_MEM_HANDLE_TYPE_FABRIC | CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  return create(kGranule, prop);
}
// A rack of two hosts with two devices each.
void be_on_host(int host) {
  setenv("CUVMM_DEVICES", "2", 1);
  setenv("CUVMM_HOST", host == 0 ? "0/2" : "1/2", 1);
  initialise();
}
CUdeviceptr place(Handle handle, std::size_t size = kGranule) {
  const CUdeviceptr address = reserve(size);
  CHILD_EXPECT(map(address, size, handle) == CUDA_SUCCESS);
  CHILD_EXPECT(set_access(address, size, access()) == CUDA_SUCCESS);
  return address;
}
std::size_t free_bytes() {
  std::size_t available = 0, total = 0;
  CHILD_EXPECT(driver()(calls::MemGetInfo{&available, &total}) == CUDA_SUCCESS);
  return available;
}

class FabricProcesses : public Processes {
 protected:
  void SetUp() override {
    Processes::SetUp();
    setenv("CUVMM_PROFILE", "fabric-imex", 1);
  }
  void TearDown() override { unsetenv("CUVMM_PROFILE"); }
};

TEST_F(FabricProcesses, MemoryIsSharedByTheBytesOfItsHandle) {
  run_pair(
      [](int socket) {
        initialise();
        const Handle handle = create_fabric();
        CUmemFabricHandle bytes, again;
        CHILD_EXPECT(export_fabric(handle, bytes) == CUDA_SUCCESS);
        CHILD_EXPECT(export_fabric(handle, again) == CUDA_SUCCESS);
        CHILD_EXPECT(std::memcmp(&bytes, &again, sizeof bytes) == 0);
        const CUdeviceptr address = place(handle);
        CHILD_EXPECT(driver()(calls::MemsetD8{address, 7, 1}) == CUDA_SUCCESS);
        send(socket, bytes);
        hear(socket);
        CHILD_EXPECT(byte_at(address + 1) == 8);
      },
      [](int socket) {
        initialise();
        const auto bytes = receive<CUmemFabricHandle>(socket);
        Handle handle = 0;
        CHILD_EXPECT(import_fabric(bytes, handle) == CUDA_SUCCESS);
        const CUdeviceptr address = place(handle);
        CHILD_EXPECT(byte_at(address) == 7);
        CHILD_EXPECT(driver()(calls::MemsetD8{address + 1, 8, 1}) == CUDA_SUCCESS);
        CUmemFabricHandle other;
        CHILD_EXPECT(export_fabric(handle, other) == CUDA_ERROR_INVALID_VALUE);  // an import
        say(socket);
      });
}

TEST_F(FabricProcesses, TheBytesHoldNoReference) {
  run_pair(
      [](int socket) {
        initialise();
        const std::size_t before = free_bytes();
        const Handle handle = create_fabric();
        CUmemFabricHandle bytes;
        CHILD_EXPECT(export_fabric(handle, bytes) == CUDA_SUCCESS);
        send(socket, bytes);
        hear(socket);
        CHILD_EXPECT(driver()(calls::MemRelease{handle}) == CUDA_SUCCESS);
        CHILD_EXPECT(free_bytes() == before - kGranule);  // the other process has it
        say(socket);
        hear_exit(socket);
        CHILD_EXPECT(free_bytes() == before);
      },
      [](int socket) {
        initialise();
        const auto bytes = receive<CUmemFabricHandle>(socket);
        Handle handle = 0, late = 0;
        CHILD_EXPECT(import_fabric(bytes, handle) == CUDA_SUCCESS);
        say(socket);
        hear(socket);
        CHILD_EXPECT(import_fabric(bytes, late) != CUDA_SUCCESS);  // the exporter released it
        CHILD_EXPECT(byte_at(place(handle)) == 0);                 // the import stays
      });
}

TEST_F(FabricProcesses, ChangedBytesAndThoseOfAnEndedProcessAreRefused) {
  run_pair(
      [](int socket) {
        initialise();
        const Handle handle = create_fabric();
        CUmemFabricHandle bytes;
        CHILD_EXPECT(export_fabric(handle, bytes) == CUDA_SUCCESS);
        send(socket, bytes);
        hear(socket);
      },
      [](int socket) {
        initialise();
        const auto bytes = receive<CUmemFabricHandle>(socket);
        Handle handle = 0;
        for (std::size_t i = 0; i < sizeof bytes; ++i) {
          CUmemFabricHandle changed = bytes;
          changed.data[i] ^= 1;
          CHILD_EXPECT(import_fabric(changed, handle) != CUDA_SUCCESS);
        }
        say(socket);
        hear_exit(socket);
        CHILD_EXPECT(import_fabric(bytes, handle) != CUDA_SUCCESS);
      });
}

TEST_F(FabricProcesses, DevicesOfTwoHostsJoinAMulticastObject) {
  CUmulticastObjectProp prop{};
  prop.numDevices = 2;
  prop.size = 2 * kGranule;
  prop.handleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  const auto share = [](Handle object, int device) {
    CHILD_EXPECT(driver()(calls::MulticastAddDevice{object, device}) == CUDA_SUCCESS);
    const Handle memory = create(kGranule, properties(device, 1));
    CHILD_EXPECT(driver()(calls::MulticastBindMem{object, 0, memory, 0, kGranule, 0}) ==
                 CUDA_SUCCESS);
    const CUdeviceptr address = reserve(kGranule);
    CHILD_EXPECT(map(address, kGranule, memory) == CUDA_SUCCESS);
    CHILD_EXPECT(set_access(address, kGranule, access(device)) == CUDA_SUCCESS);
    return address;
  };
  run_pair(
      [&](int socket) {
        be_on_host(0);
        Handle object = 0;
        CHILD_EXPECT(driver()(calls::MulticastCreate{&object, &prop}) == CUDA_SUCCESS);
        CUmemFabricHandle bytes;
        CHILD_EXPECT(export_fabric(object, bytes) == CUDA_SUCCESS);
        send(socket, bytes);
        share(object, 0);
        const CUdeviceptr all = reserve(2 * kGranule);
        CHILD_EXPECT(map(all, 2 * kGranule, object) == CUDA_SUCCESS);
        CHILD_EXPECT(set_access(all, 2 * kGranule, access(0)) == CUDA_SUCCESS);
        hear(socket);
        CHILD_EXPECT(driver()(calls::MemsetD8{all, 9, 1}) == CUDA_SUCCESS);
        say(socket);
        hear(socket);
      },
      [&](int socket) {
        be_on_host(1);
        const auto bytes = receive<CUmemFabricHandle>(socket);
        Handle object = 0;
        CHILD_EXPECT(import_fabric(bytes, object) == CUDA_SUCCESS);
        const CUdeviceptr own = share(object, 0);
        say(socket);
        hear(socket);
        CHILD_EXPECT(byte_at(own) == 9);
        say(socket);
      });
}

TEST_F(FabricProcesses, HostsShareMemoryByFabricHandlesOnly) {
  run_pair(
      [](int socket) {
        be_on_host(0);
        const Handle handle = create_fabric();
        CUmemFabricHandle bytes;
        CHILD_EXPECT(export_fabric(handle, bytes) == CUDA_SUCCESS);
        send(socket, bytes);
        send_fd(socket, export_fd(handle));
        CUdeviceptr plain = 0;
        CHILD_EXPECT(driver()(calls::MemAlloc{&plain, kGranule}) == CUDA_SUCCESS);
        CUipcMemHandle ipc;
        CHILD_EXPECT(driver()(calls::IpcGetMemHandle{&ipc, plain}) == CUDA_SUCCESS);
        send(socket, ipc);
        const CUdeviceptr address = place(handle);
        CHILD_EXPECT(driver()(calls::MemsetD8{address, 5, 1}) == CUDA_SUCCESS);
        say(socket);
        hear(socket);
      },
      [](int socket) {
        be_on_host(1);
        int count = 0;
        CHILD_EXPECT(driver()(calls::DeviceGetCount{&count}) == CUDA_SUCCESS && count == 2);
        const auto bytes = receive<CUmemFabricHandle>(socket);
        const int fd = receive_fd(socket);
        const auto ipc = receive<CUipcMemHandle>(socket);
        Handle handle = 0;
        CHILD_EXPECT(driver()(calls::MemImportFromShareableHandle{
                         &handle, reinterpret_cast<void*>(static_cast<std::uintptr_t>(fd)),
                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR}) != CUDA_SUCCESS);
        CUdeviceptr opened = 0;
        CHILD_EXPECT(driver()(calls::IpcOpenMemHandle{
                         &opened, ipc, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS}) != CUDA_SUCCESS);
        CHILD_EXPECT(import_fabric(bytes, handle) == CUDA_SUCCESS);
        hear(socket);
        CHILD_EXPECT(byte_at(place(handle)) == 5);
        say(socket);
      });
}

}  // namespace
}  // namespace cuvmm::emulator::testing
