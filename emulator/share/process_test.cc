// SPDX-License-Identifier: Apache-2.0
// Several processes share VMM memory; each has its own environment.
#include <sys/mman.h>
#include <sys/resource.h>

#include "emulator/share/process_testing.h"

namespace cuvmm::emulator::testing {
namespace {

TEST_F(Processes, ShareAnAllocationThroughADescriptor) {
  run_pair(
      [](int socket) {
        initialise();
        const Mapped m = mapped(kGranule, properties(0, 1));
        CHILD_EXPECT(driver()(calls::MemsetD8{m.address, 4, 16}) == CUDA_SUCCESS);
        const int fd = export_fd(m.handle);
        send_fd(socket, fd);
        close(fd);
        hear(socket);
        CHILD_EXPECT(byte_at(m.address) == 6);
      },
      [](int socket) {
        initialise();
        const int fd = receive_fd(socket);
        const CUmemGenericAllocationHandle one = import_fd(fd);
        const CUmemGenericAllocationHandle two = import_fd(fd);
        CHILD_EXPECT(one != two);
        close(fd);
        CUmemAllocationProp prop{};
        CHILD_EXPECT(driver()(calls::MemGetAllocationPropertiesFromHandle{&prop, one}) ==
                     CUDA_SUCCESS);
        CHILD_EXPECT(prop.requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE);
        const CUdeviceptr first = show(one);
        const CUdeviceptr second = show(two);
        CHILD_EXPECT(byte_at(first) == 4);
        CHILD_EXPECT(driver()(calls::MemsetD8{second, 6, 1}) == CUDA_SUCCESS);
        CHILD_EXPECT(byte_at(first) == 6);
        say(socket);
      });
}

TEST_F(Processes, ADescriptorOutlivesItsMaker) {
  run_pair(
      [](int socket) {
        initialise();
        const Mapped m = mapped(kGranule, properties(0, 1));
        CHILD_EXPECT(driver()(calls::MemsetD8{m.address, 4, 16}) == CUDA_SUCCESS);
        send_fd(socket, export_fd(m.handle));
      },
      [](int socket) {
        initialise();
        const int fd = receive_fd(socket);
        hear_exit(socket);
        CHILD_EXPECT(byte_at(show(import_fd(fd))) == 4);
      });
}

TEST_F(Processes, HostNumaMemoryIsSharedWithTheCpuToo) {
  run_pair(
      [](int socket) {
        initialise();
        CUmemAllocationProp prop = properties(0, 1);
        prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
        const Mapped m = mapped(kGranule, prop);
        CHILD_EXPECT(set_access(m.address, m.size, access(0, 3, CU_MEM_LOCATION_TYPE_HOST_NUMA)) ==
                     CUDA_SUCCESS);
        *reinterpret_cast<volatile char*>(m.address) = 31;
        send_fd(socket, export_fd(m.handle));
        hear(socket);
      },
      [](int socket) {
        initialise();
        const CUdeviceptr address = show(import_fd(receive_fd(socket)));
        CHILD_EXPECT(byte_at(address) == 31);
        say(socket);
      });
}

TEST_F(Processes, AChildOfAnInitialisedProcessCannotUseTheDriver) {
  run([](int) {
    initialise();
    const Mapped m = mapped();
    const pid_t child = fork();
    if (child == 0) {
      int count = 0;
      CHILD_EXPECT(driver()(calls::DeviceGetCount{&count}) == CUDA_ERROR_NOT_INITIALIZED);
      CHILD_EXPECT(driver()(calls::MemUnmap{m.address, m.size}) == CUDA_ERROR_NOT_INITIALIZED);
      CHILD_EXPECT(driver()(calls::Init{0}) == CUDA_ERROR_NOT_INITIALIZED);
      _exit(0);
    }
    int status = 1;
    CHILD_EXPECT(waitpid(child, &status, 0) == child && status == 0);
    CHILD_EXPECT(byte_at(m.address) == 0);
  });
}

TEST_F(Processes, NothingWorksBeforeInitialisation) {
  run([](int) {
    int count = 0;
    CHILD_EXPECT(driver()(calls::DeviceGetCount{&count}) == CUDA_ERROR_NOT_INITIALIZED);
    CUdeviceptr address = 77;
    CHILD_EXPECT(driver()(calls::MemAddressReserve{&address, kGranule, 0, 0, 0}) ==
                 CUDA_ERROR_NOT_INITIALIZED);
    CHILD_EXPECT(address == 77);
    int version = 0;
    CHILD_EXPECT(driver()(calls::DriverGetVersion{&version}) == CUDA_SUCCESS && version >= 12000);
  });
}

// Where the device supports it: from the start of the memory, as programs map it.
TEST_F(Processes, TheCpuMapsADmaBuf) {
  run([](int) {
    setenv("CUVMM_PROFILE", "documented", 1);
    initialise();
    int can = 0;
    const auto attribute = static_cast<CUdevice_attribute>(kAttributeDmaBufMmap);
    CHILD_EXPECT(driver()(calls::DeviceGetAttribute{&can, attribute, 0}) == CUDA_SUCCESS && can);
    const Mapped memory = mapped(2 * kGranule);
    int fd = -1;
    CHILD_EXPECT(driver()(calls::MemGetHandleForAddressRange{
                     &fd, memory.address, memory.size, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0}) ==
                 CUDA_SUCCESS);
    void* at = mmap(nullptr, memory.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHILD_EXPECT(at != MAP_FAILED);
    auto* bytes = static_cast<volatile unsigned char*>(at);
    CHILD_EXPECT(driver()(calls::MemsetD8{memory.address, 7, memory.size}) == CUDA_SUCCESS);
    CHILD_EXPECT(bytes[0] == 7 && bytes[memory.size - 1] == 7);
    bytes[kGranule] = 9;
    CHILD_EXPECT(byte_at(memory.address + kGranule) == 9);
    munmap(at, memory.size);
    close(fd);
  });
}

TEST_F(Processes, APartialMappingEndsWhereItWasAskedTo) {
  run([](int) {
    setenv("CUVMM_PROFILE", "documented", 1);  // no measured driver maps a part of an allocation
    initialise();
    CUmemAllocationProp prop = properties();
    prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    const CUmemAccessDesc host = access(0, 3, CU_MEM_LOCATION_TYPE_HOST_NUMA);
    const CUdeviceptr address = reserve(2 * kGranule);
    const CUmemGenericAllocationHandle large = create(2 * kGranule, prop);
    const CUmemGenericAllocationHandle small = create(kGranule, prop);
    CHILD_EXPECT(map(address + kGranule, kGranule, small) == CUDA_SUCCESS);
    CHILD_EXPECT(set_access(address + kGranule, kGranule, host) == CUDA_SUCCESS);
    auto* neighbour = reinterpret_cast<volatile char*>(address + kGranule);
    *neighbour = 12;
    CHILD_EXPECT(map(address, kGranule, large) == CUDA_SUCCESS);
    CHILD_EXPECT(set_access(address, kGranule, host) == CUDA_SUCCESS);
    CHILD_EXPECT(*neighbour == 12);
    CHILD_EXPECT(map(address, 2 * kGranule, small) == CUDA_ERROR_INVALID_VALUE);
  });
}

void init_with(const char* name, const char* value, CUresult expected) {
  run([=](int) {
    setenv(name, value, 1);
    CHILD_EXPECT(driver()(calls::Init{0}) == expected);
  });
}

TEST_F(Processes, TheEnvironmentChoosesTheMachine) {
  init_with("CUVMM_DEVICES", "0", CUDA_ERROR_NO_DEVICE);
  init_with("CUVMM_DEVICES", "several", CUDA_ERROR_NO_DEVICE);
  init_with("CUVMM_PROFILE", "/nonexistent.toml", CUDA_ERROR_NO_DEVICE);
  init_with("CUVMM_DEVICE_MEMORY", "much", CUDA_ERROR_NO_DEVICE);
  init_with("CUVMM_PROFILE", "documented", CUDA_SUCCESS);
  run([](int) {
    setenv("CUVMM_DEVICES", "3", 1);
    setenv("CUVMM_DEVICE_MEMORY", "64M", 1);
    initialise();
    int count = 0;
    CHILD_EXPECT(driver()(calls::DeviceGetCount{&count}) == CUDA_SUCCESS && count == 3);
    std::size_t free = 0, total = 0;
    CHILD_EXPECT(driver()(calls::MemGetInfo{&free, &total}) == CUDA_SUCCESS);
    CHILD_EXPECT(total == 64u << 20 && free == total);
  });
}

// --- CUDA_VISIBLE_DEVICES

TEST_F(Processes, SeeTheDevicesThatTheEnvironmentLeaves) {
  run([](int) {
    setenv("CUDA_VISIBLE_DEVICES", "2,0", 1);
    initialise();
    int count = 0, first = 0, second = 0;
    CHILD_EXPECT(driver()(calls::DeviceGetCount{&count}) == CUDA_SUCCESS && count == 2);
    const auto bus = CU_DEVICE_ATTRIBUTE_PCI_BUS_ID;
    CHILD_EXPECT(driver()(calls::DeviceGetAttribute{&first, bus, 0}) == CUDA_SUCCESS);
    CHILD_EXPECT(driver()(calls::DeviceGetAttribute{&second, bus, 1}) == CUDA_SUCCESS);
    CHILD_EXPECT(first == 0x38 && second == 0x18);
    CUdevice device = 77;
    CHILD_EXPECT(driver()(calls::DeviceGet{&device, 2}) == CUDA_ERROR_INVALID_DEVICE);
    CHILD_EXPECT(device == 77);
  });
}

TEST_F(Processes, HaveNoDriverWhereNoDeviceIsLeft) {
  for (const char* nothing : {"", "-1", "8", "0,0", "MIG-1", "GPU-0"}) {
    run([nothing](int) {
      setenv("CUDA_VISIBLE_DEVICES", nothing, 1);
      CHILD_EXPECT(driver()(calls::Init{0}) == CUDA_ERROR_NO_DEVICE);
      int count = 0;
      CHILD_EXPECT(driver()(calls::DeviceGetCount{&count}) == CUDA_ERROR_NOT_INITIALIZED);
    });
  }
}

TEST_F(Processes, NameTheDeviceOfSharedMemoryAsTheySeeIt) {
  struct Case {
    const char* importer;
    int device;
  };
  // The last case does not see the device at all, and can use its memory all the same.
  for (const Case& each : {Case{"1,3", 1}, Case{"3", 0}, Case{"0", 0}}) {
    run_pair(
        [](int socket) {
          setenv("CUDA_VISIBLE_DEVICES", "0,3", 1);
          initialise();
          const Mapped m = mapped(kGranule, properties(1, 1));
          CHILD_EXPECT(set_access(m.address, m.size, access(0)) == CUDA_SUCCESS);
          CHILD_EXPECT(driver()(calls::MemsetD8{m.address, 4, 16}) == CUDA_SUCCESS);
          send_fd(socket, export_fd(m.handle));
          hear(socket);
        },
        [each](int socket) {
          setenv("CUDA_VISIBLE_DEVICES", each.importer, 1);
          initialise();
          const CUmemGenericAllocationHandle handle = import_fd(receive_fd(socket));
          CUmemAllocationProp prop{};
          CHILD_EXPECT(driver()(calls::MemGetAllocationPropertiesFromHandle{&prop, handle}) ==
                       CUDA_SUCCESS);
          CHILD_EXPECT(prop.location.id == each.device);
          CHILD_EXPECT(byte_at(show(handle)) == 4);
          say(socket);
        });
  }
}

// libfabric 12828: a program keeps a dma-buf of each registration open.
TEST_F(Processes, GetNoDmaBufWhereNoDescriptorIsLeft) {
  run([](int) {
    initialise();
    const Mapped memory = mapped(kGranule);
    const rlimit few{64, 64};
    CHILD_EXPECT(setrlimit(RLIMIT_NOFILE, &few) == 0);
    int fd = -1;
    CUresult result = CUDA_SUCCESS;
    for (int i = 0; i < 65 && result == CUDA_SUCCESS; ++i) {
      result = driver()(calls::MemGetHandleForAddressRange{&fd, memory.address, memory.size,
                                                           CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0});
    }
    CHILD_EXPECT(result == CUDA_ERROR_OPERATING_SYSTEM);
  });
}

}  // namespace
}  // namespace cuvmm::emulator::testing
