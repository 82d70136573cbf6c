// SPDX-License-Identifier: Apache-2.0
// Legacy IPC across processes.
#include "emulator/share/process_testing.h"

namespace cuvmm::emulator::testing {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class IpcProcesses : public Processes {};

CUdeviceptr allocate(std::size_t size, unsigned char fill) {
  CUdeviceptr address = 0;
  CHILD_EXPECT(driver()(calls::MemAlloc{&address, size}) == CUDA_SUCCESS);
  CHILD_EXPECT(driver()(calls::MemsetD8{address, fill, size}) == CUDA_SUCCESS);
  return address;
}
CUipcMemHandle handle_of(CUdeviceptr address) {
  CUipcMemHandle handle;
  CHILD_EXPECT(driver()(calls::IpcGetMemHandle{&handle, address}) == CUDA_SUCCESS);
  return handle;
}
CUresult open(const CUipcMemHandle& handle, CUdeviceptr* address, unsigned flags = 1) {
  return driver()(calls::IpcOpenMemHandle{address, handle, flags});
}
CUresult close_memory(CUdeviceptr address) { return driver()(calls::IpcCloseMemHandle{address}); }

// A process that exports 1 MiB, and lives until the other process is done.
void export_one(int socket) {
  initialise();
  send(socket, handle_of(allocate(kMiB, 1)));
  hear(socket);
}

// Observation x-ipc/open-close.
TEST_F(IpcProcesses, OpensCountInOneContext) {
  run_pair(
      [](int socket) {
        initialise();
        const CUdeviceptr p = allocate(kMiB, 3);
        send(socket, handle_of(p));
        hear(socket);
        CHILD_EXPECT(byte_at(p) == 8);
      },
      [](int socket) {
        initialise();
        const auto handle = receive<CUipcMemHandle>(socket);
        CUdeviceptr q = 0, again = 0;
        CHILD_EXPECT(open(handle, &q) == CUDA_SUCCESS);
        CHILD_EXPECT(byte_at(q + kMiB - 1) == 3);
        CHILD_EXPECT(driver()(calls::MemsetD8{q, 8, 1}) == CUDA_SUCCESS);
        CHILD_EXPECT(open(handle, &again) == CUDA_SUCCESS && again == q);
        CHILD_EXPECT(close_memory(q) == CUDA_SUCCESS);
        CHILD_EXPECT(byte_at(q) == 8);
        CHILD_EXPECT(close_memory(q) == CUDA_SUCCESS);
        CHILD_EXPECT(close_memory(q) == CUDA_ERROR_INVALID_VALUE);
        unsigned char byte = 0;
        CHILD_EXPECT(driver()(calls::MemcpyDtoH{&byte, q, 1}) == CUDA_ERROR_INVALID_VALUE);
        say(socket);
      });
}

// Observations x-ipc/flags and x-ipc/reexport.
TEST_F(IpcProcesses, OpenedMemoryIsNotOnesOwn) {
  run_pair(export_one, [](int socket) {
    initialise();
    const auto handle = receive<CUipcMemHandle>(socket);
    CUdeviceptr q = 0;
    CHILD_EXPECT(open(handle, &q, 0) == CUDA_ERROR_INVALID_VALUE);
    CHILD_EXPECT(open(handle, &q, 2) == CUDA_ERROR_INVALID_VALUE);
    CHILD_EXPECT(open(handle, &q, 3) == CUDA_SUCCESS);
    CHILD_EXPECT(driver()(calls::MemFree{q}) == CUDA_ERROR_INVALID_VALUE);
    CHILD_EXPECT(close_memory(q + 4096) == CUDA_ERROR_INVALID_VALUE);
    CUipcMemHandle passed_on;
    CHILD_EXPECT(driver()(calls::IpcGetMemHandle{&passed_on, q}) == CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr base = 0;
    std::size_t size = 0;
    CHILD_EXPECT(driver()(calls::MemGetAddressRange{&base, &size, q}) == CUDA_SUCCESS);
    CHILD_EXPECT(base == q && size == kMiB);
    int capable = 9;
    CHILD_EXPECT(driver()(calls::PointerGetAttribute{
                     &capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, q}) ==
                 CUDA_SUCCESS);
    CHILD_EXPECT(capable == 0);
    CHILD_EXPECT(close_memory(q) == CUDA_SUCCESS);
    say(socket);
  });
}

// Observation m/x-ipc-peer: each context gets another pointer; the memory stays on its device.
TEST_F(IpcProcesses, AnotherDevicesContextHasAPointerOfItsOwn) {
  run_pair(
      [](int socket) {
        initialise();
        send(socket, handle_of(allocate(kMiB, 3)));
        hear(socket);
      },
      [](int socket) {
        initialise();
        const auto handle = receive<CUipcMemHandle>(socket);
        CUdeviceptr q = 0, q2 = 0;
        use_device(1);
        CHILD_EXPECT(open(handle, &q) == CUDA_SUCCESS && byte_at(q) == 3);
        use_device(0);
        CHILD_EXPECT(open(handle, &q2) == CUDA_SUCCESS && q2 != q);
        CHILD_EXPECT(close_memory(q) == CUDA_SUCCESS);
        int ordinal = 9;
        CHILD_EXPECT(driver()(calls::PointerGetAttribute{
                         &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, q2}) == CUDA_SUCCESS);
        CHILD_EXPECT(ordinal == 0 && byte_at(q2) == 3);
        say(socket);
      });
}

// Observation x-ipc/open-freed.
TEST_F(IpcProcesses, FreedMemoryCannotBeOpened) {
  run_pair(
      [](int socket) {
        initialise();
        const CUdeviceptr p = allocate(4 * kMiB, 1);
        const CUipcMemHandle handle = handle_of(p);
        CHILD_EXPECT(driver()(calls::MemFree{p}) == CUDA_SUCCESS);
        // Other memory now has the freed memory's place, address and descriptor number.
        handle_of(allocate(4 * kMiB, 2));
        send(socket, handle);
        hear(socket);
      },
      [](int socket) {
        initialise();
        CUdeviceptr q = 7;
        CHILD_EXPECT(open(receive<CUipcMemHandle>(socket), &q) == CUDA_ERROR_INVALID_VALUE);
        CHILD_EXPECT(q == 7);
        say(socket);
      });
}

// Observation x-ipc/open-after-exit.
TEST_F(IpcProcesses, AnExporterThatIsGoneCannotBeAsked) {
  run_pair(
      [](int socket) {
        initialise();
        send(socket, handle_of(allocate(4 * kMiB, 1)));
      },
      [](int socket) {
        initialise();
        const auto handle = receive<CUipcMemHandle>(socket);
        hear_exit(socket);
        usleep(20000);
        CUdeviceptr q = 0;
        CHILD_EXPECT(open(handle, &q) == CUDA_ERROR_INVALID_HANDLE);
      });
}

// Access to opened memory after the exporter freed it is undefined; here the memory stays, and
// access harms nobody.
TEST_F(IpcProcesses, OpenedMemoryOutlivesItsExporter) {
  run_pair(
      [](int socket) {
        initialise();
        send(socket, handle_of(allocate(kMiB, 5)));
        hear(socket);
      },
      [](int socket) {
        initialise();
        CUdeviceptr q = 0;
        CHILD_EXPECT(open(receive<CUipcMemHandle>(socket), &q) == CUDA_SUCCESS);
        say(socket);
        hear_exit(socket);
        CHILD_EXPECT(byte_at(q) == 5 && close_memory(q) == CUDA_SUCCESS);
      });
}

// The answer of an H200 to a handle with a changed byte (4 MiB, alone in its block).
CUresult answer_to_changed(std::size_t byte, bool open_already) {
  if (byte < 16 || (byte >= 37 && byte < 48) || byte >= 56) return CUDA_SUCCESS;
  if (byte >= 48) return byte < 52 ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
  const bool range = byte < 24 || byte == 28 || byte == 29;  // size and offset
  if (range) return open_already ? CUDA_ERROR_ALREADY_MAPPED : CUDA_SUCCESS;
  return open_already ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void expect_changed_bytes(const CUipcMemHandle& handle, CUdeviceptr opened) {
  for (std::size_t i = 0; i < sizeof handle; ++i) {
    // The offset lies after the block: an H200 gives out an address that faults.
    if (i == 30 || i == 31) continue;
    CUipcMemHandle changed = handle;
    changed.reserved[i] = static_cast<char>(changed.reserved[i] ^ 0x20);
    CUdeviceptr q = 0;
    const CUresult result = open(changed, &q);
    CHILD_EXPECT(result == answer_to_changed(i, opened != 0));
    if (result != CUDA_SUCCESS) continue;
    const bool other_block = i >= 40 && i < 48;
    CHILD_EXPECT(opened == 0 || (q == opened) == !other_block);
    CHILD_EXPECT(byte_at(q) == 1 && close_memory(q) == CUDA_SUCCESS);
    CHILD_EXPECT(opened == 0 || byte_at(opened) == 1);
  }
}

// Observation x-ipc/flags, for each byte.
TEST_F(IpcProcesses, ABytesMeaningDecidesWhetherItCounts) {
  run_pair(export_one, [](int socket) {
    initialise();
    const auto handle = receive<CUipcMemHandle>(socket);
    CUdeviceptr q = 7;
    CHILD_EXPECT(open(CUipcMemHandle{}, &q) == CUDA_ERROR_INVALID_VALUE && q == 7);
    expect_changed_bytes(handle, 0);
    CHILD_EXPECT(open(handle, &q) == CUDA_SUCCESS);
    expect_changed_bytes(handle, q);
    CHILD_EXPECT(close_memory(q) == CUDA_SUCCESS);
    expect_changed_bytes(handle, 0);
    say(socket);
  });
}

// An H200 reports the device whose context opened the memory, wherever the memory lies.
TEST_F(IpcProcesses, OpenedMemoryIsOfTheDeviceThatOpenedIt) {
  run_pair(export_one, [](int socket) {
    initialise();
    const auto handle = receive<CUipcMemHandle>(socket);
    use_device(1);
    CUdeviceptr q = 0;
    CHILD_EXPECT(open(handle, &q) == CUDA_SUCCESS);
    int ordinal = 9;
    CHILD_EXPECT(driver()(calls::PointerGetAttribute{&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                                     q}) == CUDA_SUCCESS);
    CHILD_EXPECT(ordinal == 1);
    say(socket);
  });
}

TEST_F(IpcProcesses, EventsAreShared) {
  run_pair(
      [](int socket) {
        initialise();
        CUevent event = nullptr;
        CHILD_EXPECT(driver()(calls::EventCreate{
                         &event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING}) == CUDA_SUCCESS);
        CUipcEventHandle handle;
        CHILD_EXPECT(driver()(calls::IpcGetEventHandle{&handle, event}) == CUDA_SUCCESS);
        CUevent own = nullptr;
        CHILD_EXPECT(driver()(calls::IpcOpenEventHandle{&own, handle}) ==
                     CUDA_ERROR_INVALID_CONTEXT);
        send(socket, handle);
        hear(socket);
        CHILD_EXPECT(driver()(calls::EventDestroy{event}) == CUDA_SUCCESS);
        say(socket);
        hear(socket);
      },
      [](int socket) {
        initialise();
        const auto handle = receive<CUipcEventHandle>(socket);
        CUevent event = nullptr;
        CHILD_EXPECT(driver()(calls::IpcOpenEventHandle{&event, handle}) == CUDA_SUCCESS);
        CHILD_EXPECT(driver()(calls::EventSynchronize{event}) == CUDA_SUCCESS);
        CHILD_EXPECT(driver()(calls::EventRecord{event, nullptr}) == CUDA_SUCCESS);
        CHILD_EXPECT(driver()(calls::EventDestroy{event}) == CUDA_SUCCESS);
        say(socket);
        hear(socket);
        // The exporter has destroyed the event; an H200 opens it all the same.
        CHILD_EXPECT(driver()(calls::IpcOpenEventHandle{&event, handle}) == CUDA_SUCCESS);
        say(socket);
      });
}

TEST_F(IpcProcesses, NoDescriptorLeaks) {
  run_pair(export_one, [](int socket) {
    initialise();
    const auto handle = receive<CUipcMemHandle>(socket);
    const int before = dup(0);
    close(before);
    for (int i = 0; i < 20; ++i) {
      CUdeviceptr q = 0;
      CHILD_EXPECT(open(handle, &q) == CUDA_SUCCESS && open(handle, &q) == CUDA_SUCCESS);
      CHILD_EXPECT(open(handle, &q, 0) == CUDA_ERROR_INVALID_VALUE);
      CHILD_EXPECT(close_memory(q) == CUDA_SUCCESS && close_memory(q) == CUDA_SUCCESS);
    }
    const int after = dup(0);
    CHILD_EXPECT(after == before);
    say(socket);
  });
}

}  // namespace
}  // namespace cuvmm::emulator::testing
