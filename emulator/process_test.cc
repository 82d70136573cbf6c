// Several processes: this one never calls cuInit, its children do. A child reports by its exit
// code: 0, or the line of the first expectation that failed.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

// Exit codes have 8 bits: lines are told modulo 250, and never 0.
#define CHILD_EXPECT(condition)                    \
  do {                                             \
    if (!(condition)) _exit(1 + (__LINE__ % 250)); \
  } while (0)

using Body = std::function<void(int socket)>;

pid_t start(int socket, int other, const Body& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  if (other >= 0) close(other);
  body(socket);
  _exit(0);
}

void expect_success(pid_t child) {
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "line % 250 + 1";
}

void run(const Body& body) { expect_success(start(-1, -1, body)); }

void run_pair(const Body& first, const Body& second) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const pid_t a = start(ends[0], ends[1], first);
  const pid_t b = start(ends[1], ends[0], second);
  close(ends[0]);
  close(ends[1]);
  expect_success(a);
  expect_success(b);
}

void send_fd(int socket, int fd) {
  char byte = 'x';
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  CHILD_EXPECT(sendmsg(socket, &message, 0) == 1);
}

int receive_fd(int socket) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  CHILD_EXPECT(recvmsg(socket, &message, 0) == 1);
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  return fd;
}

void say(int socket) { CHILD_EXPECT(write(socket, "x", 1) == 1); }
void hear(int socket) {
  char byte = 0;
  CHILD_EXPECT(read(socket, &byte, 1) == 1);
}
void hear_exit(int socket) {
  char byte = 0;
  CHILD_EXPECT(read(socket, &byte, 1) == 0);
}

void initialise() {
  CHILD_EXPECT(driver()(calls::Init{0}) == CUDA_SUCCESS);
  use_device(0);
}

int export_fd(CUmemGenericAllocationHandle handle) {
  int fd = -1;
  CHILD_EXPECT(driver()(calls::MemExportToShareableHandle{
                   &fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0}) == CUDA_SUCCESS);
  return fd;
}

CUmemGenericAllocationHandle import_fd(int fd) {
  CUmemGenericAllocationHandle handle = 0;
  CHILD_EXPECT(driver()(calls::MemImportFromShareableHandle{
                   &handle, reinterpret_cast<void*>(static_cast<std::uintptr_t>(fd)),
                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR}) == CUDA_SUCCESS);
  return handle;
}

CUdeviceptr show(CUmemGenericAllocationHandle handle) {
  const CUdeviceptr address = reserve(kGranule);
  CHILD_EXPECT(map(address, kGranule, handle) == CUDA_SUCCESS);
  CHILD_EXPECT(set_access(address, kGranule, access()) == CUDA_SUCCESS);
  return address;
}

unsigned char byte_at(CUdeviceptr address) {
  unsigned char value = 0xee;
  CHILD_EXPECT(driver()(calls::MemcpyDtoH{&value, address, 1}) == CUDA_SUCCESS);
  return value;
}

class Processes : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(library().error, ""); }
};

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

}  // namespace
}  // namespace cuvmm::emulator::testing
