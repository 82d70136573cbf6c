// SPDX-License-Identifier: Apache-2.0
// Several processes: the test itself never calls cuInit, its children do. A child reports by its
// exit code: 0, or the line of the first expectation that failed.
#pragma once

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "api/posix/pass_descriptor.h"
#include "emulator/testing.h"

namespace cuvmm::emulator::testing {

// Exit codes have 8 bits: the code is the line modulo 250, and never 0.
#define CHILD_EXPECT(condition)                    \
  do {                                             \
    if (!(condition)) _exit(1 + (__LINE__ % 250)); \
  } while (0)

using Body = std::function<void(int socket)>;

inline pid_t start(int socket, int other, const Body& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  if (other >= 0) close(other);
  body(socket);
  _exit(0);
}

inline void expect_success(pid_t child) {
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "line % 250 + 1";
}

inline void run(const Body& body) { expect_success(start(-1, -1, body)); }

inline void run_pair(const Body& first, const Body& second) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const pid_t a = start(ends[0], ends[1], first);
  const pid_t b = start(ends[1], ends[0], second);
  close(ends[0]);
  close(ends[1]);
  expect_success(a);
  expect_success(b);
}

inline void send_fd(int socket, int fd) {
  char byte = 'x';
  iovec data[] = {{&byte, 1}};
  CHILD_EXPECT(send_with_descriptor(socket, data, fd) == 1);
}

inline int receive_fd(int socket) {
  char byte = 0;
  iovec data[] = {{&byte, 1}};
  int fd = -1;
  CHILD_EXPECT(receive_with_descriptor(socket, data, fd) == 1 && fd >= 0);
  return fd;
}

inline void say(int socket) { CHILD_EXPECT(write(socket, "x", 1) == 1); }
inline void hear(int socket) {
  char byte = 0;
  CHILD_EXPECT(read(socket, &byte, 1) == 1);
}
inline void hear_exit(int socket) {
  char byte = 0;
  CHILD_EXPECT(read(socket, &byte, 1) == 0);
}

inline void initialise() {
  CHILD_EXPECT(driver()(calls::Init{0}) == CUDA_SUCCESS);
  use_device(0);
}

/// Sends and receives values that can be copied byte by byte.
template <class Value>
void send(int socket, const Value& value) {
  CHILD_EXPECT(write(socket, &value, sizeof value) == static_cast<ssize_t>(sizeof value));
}
template <class Value>
Value receive(int socket) {
  Value value{};
  CHILD_EXPECT(read(socket, &value, sizeof value) == static_cast<ssize_t>(sizeof value));
  return value;
}

inline int export_fd(CUmemGenericAllocationHandle handle) {
  int fd = -1;
  CHILD_EXPECT(driver()(calls::MemExportToShareableHandle{
                   &fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0}) == CUDA_SUCCESS);
  return fd;
}

inline CUmemGenericAllocationHandle import_fd(int fd) {
  CUmemGenericAllocationHandle handle = 0;
  CHILD_EXPECT(driver()(calls::MemImportFromShareableHandle{
                   &handle, reinterpret_cast<void*>(static_cast<std::uintptr_t>(fd)),
                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR}) == CUDA_SUCCESS);
  return handle;
}

inline CUdeviceptr show(CUmemGenericAllocationHandle handle) {
  const CUdeviceptr address = reserve(kGranule);
  CHILD_EXPECT(map(address, kGranule, handle) == CUDA_SUCCESS);
  CHILD_EXPECT(set_access(address, kGranule, access()) == CUDA_SUCCESS);
  return address;
}

inline unsigned char byte_at(CUdeviceptr address) {
  unsigned char value = 0xee;
  CHILD_EXPECT(driver()(calls::MemcpyDtoH{&value, address, 1}) == CUDA_SUCCESS);
  return value;
}

class Processes : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(library().error, ""); }
};

}  // namespace cuvmm::emulator::testing
