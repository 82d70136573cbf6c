// SPDX-License-Identifier: Apache-2.0
// Pools across processes: the pool by descriptor, its memory by 64 bytes of data.
#include <cstring>

#include "emulator/share/process_testing.h"

namespace cuvmm::emulator::testing {
namespace {

class PoolProcesses : public Processes {};

CUmemoryPool shareable_pool(int location_type = CU_MEM_LOCATION_TYPE_DEVICE) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = static_cast<CUmemLocationType>(location_type);
  props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemoryPool pool = nullptr;
  CHILD_EXPECT(driver()(calls::MemPoolCreate{&pool, &props}) == CUDA_SUCCESS);
  return pool;
}
int descriptor_of(CUmemoryPool pool) {
  int fd = -1;
  CHILD_EXPECT(driver()(calls::MemPoolExportToShareableHandle{
                   &fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0}) == CUDA_SUCCESS);
  return fd;
}
CUmemoryPool import_pool(int fd) {
  CUmemoryPool pool = nullptr;
  CHILD_EXPECT(driver()(calls::MemPoolImportFromShareableHandle{
                   &pool, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)),
                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0}) == CUDA_SUCCESS);
  close(fd);
  return pool;
}
CUdeviceptr take(CUmemoryPool pool, unsigned char fill) {
  CUdeviceptr address = 0;
  CHILD_EXPECT(driver()(calls::MemAllocFromPoolAsync{&address, 4096, pool, nullptr}) ==
               CUDA_SUCCESS);
  CHILD_EXPECT(driver()(calls::MemsetD8{address, fill, 4096}) == CUDA_SUCCESS);
  return address;
}
CUmemPoolPtrExportData data_of(CUdeviceptr address) {
  CUmemPoolPtrExportData data;
  CHILD_EXPECT(driver()(calls::MemPoolExportPointer{&data, address}) == CUDA_SUCCESS);
  return data;
}
CUresult import_pointer(CUmemoryPool pool, CUmemPoolPtrExportData data, CUdeviceptr* out) {
  return driver()(calls::MemPoolImportPointer{out, pool, &data});
}

TEST_F(PoolProcesses, ShareAPoolAndThenItsMemory) {
  run_pair(
      [](int socket) {
        initialise();
        const CUmemoryPool pool = shareable_pool();
        const int fd = descriptor_of(pool);
        send_fd(socket, fd);
        close(fd);
        const CUdeviceptr p = take(pool, 4);
        send(socket, data_of(p));
        hear(socket);
        CHILD_EXPECT(byte_at(p) == 6);
        CHILD_EXPECT(driver()(calls::MemFreeAsync{p, nullptr}) == CUDA_SUCCESS);
        CHILD_EXPECT(driver()(calls::MemPoolDestroy{pool}) == CUDA_SUCCESS);
      },
      [](int socket) {
        initialise();
        const CUmemoryPool pool = import_pool(receive_fd(socket));
        CUdeviceptr q = 0;
        CHILD_EXPECT(import_pointer(pool, receive<CUmemPoolPtrExportData>(socket), &q) ==
                     CUDA_SUCCESS);
        CHILD_EXPECT(byte_at(q) == 4 && byte_at(q + 4095) == 4);
        CHILD_EXPECT(driver()(calls::MemsetD8{q, 6, 1}) == CUDA_SUCCESS);
        CUmemPoolPtrExportData again;
        CHILD_EXPECT(driver()(calls::MemPoolExportPointer{&again, q}) == CUDA_ERROR_INVALID_VALUE);
        CHILD_EXPECT(driver()(calls::MemFreeAsync{q, nullptr}) == CUDA_SUCCESS);
        CHILD_EXPECT(driver()(calls::MemPoolDestroy{pool}) == CUDA_SUCCESS);
        say(socket);
      });
}

// The CPU makes copies of the memory, because neither process's pool gave a device access (plain
// recordings, seeds 201 and 205, of the pool's own process). Fills need that access.
TEST_F(PoolProcesses, CopyMemoryOfAHostPoolWithoutAccess) {
  constexpr int kHostNuma = 3;
  run_pair(
      [](int socket) {
        initialise();
        const CUmemoryPool pool = shareable_pool(kHostNuma);
        const int fd = descriptor_of(pool);
        send_fd(socket, fd);
        close(fd);
        CUdeviceptr p = 0;
        CHILD_EXPECT(driver()(calls::MemAllocFromPoolAsync{&p, 4096, pool, nullptr}) ==
                     CUDA_SUCCESS);
        auto* bytes = reinterpret_cast<volatile unsigned char*>(p);
        bytes[4095] = 4;
        send(socket, data_of(p));
        hear(socket);
        CHILD_EXPECT(bytes[0] == 6 && bytes[4095] == 4);
        CHILD_EXPECT(driver()(calls::MemFreeAsync{p, nullptr}) == CUDA_SUCCESS);
        CHILD_EXPECT(driver()(calls::MemPoolDestroy{pool}) == CUDA_SUCCESS);
      },
      [](int socket) {
        initialise();
        const CUmemoryPool pool = import_pool(receive_fd(socket));
        CUdeviceptr q = 0, plain = 0;
        CHILD_EXPECT(import_pointer(pool, receive<CUmemPoolPtrExportData>(socket), &q) ==
                     CUDA_SUCCESS);
        CHILD_EXPECT(driver()(calls::MemsetD8{q, 9, 4096}) == CUDA_ERROR_INVALID_VALUE);
        CHILD_EXPECT(driver()(calls::MemAlloc{&plain, 4096}) == CUDA_SUCCESS);
        CHILD_EXPECT(driver()(calls::MemcpyAsync{plain, q, 4096, nullptr}) == CUDA_SUCCESS);
        CHILD_EXPECT(byte_at(plain + 4095) == 4);
        CHILD_EXPECT(driver()(calls::MemsetD8{plain, 6, 1}) == CUDA_SUCCESS);
        CHILD_EXPECT(driver()(calls::MemcpyAsync{q, plain, 1, nullptr}) == CUDA_SUCCESS);
        CHILD_EXPECT(driver()(calls::MemFreeAsync{q, nullptr}) == CUDA_SUCCESS);
        CHILD_EXPECT(driver()(calls::MemPoolDestroy{pool}) == CUDA_SUCCESS);
        say(socket);
      });
}

// Freed memory can still be imported, as on an H200: the import gets memory that no other process
// has.
TEST_F(PoolProcesses, RefusePointersOfOtherPools) {
  run_pair(
      [](int socket) {
        initialise();
        const CUmemoryPool pool = shareable_pool(), other = shareable_pool();
        send_fd(socket, descriptor_of(pool));
        close(descriptor_of(other));
        send(socket, data_of(take(other, 1)));
        const CUdeviceptr freed = take(pool, 2);
        const CUmemPoolPtrExportData data = data_of(freed);
        CHILD_EXPECT(driver()(calls::MemFreeAsync{freed, nullptr}) == CUDA_SUCCESS);
        send(socket, data);
        // Memory of legacy IPC is not a pool's memory.
        CUdeviceptr plain = 0;
        CUipcMemHandle handle;
        CHILD_EXPECT(driver()(calls::MemAlloc{&plain, 4096}) == CUDA_SUCCESS);
        CHILD_EXPECT(driver()(calls::IpcGetMemHandle{&handle, plain}) == CUDA_SUCCESS);
        CUmemPoolPtrExportData disguised;
        std::memcpy(&disguised, &handle, sizeof disguised);
        send(socket, disguised);
        hear(socket);
      },
      [](int socket) {
        initialise();
        const CUmemoryPool pool = import_pool(receive_fd(socket));
        for (const CUresult wanted :
             {CUDA_ERROR_INVALID_VALUE, CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE}) {
          CUdeviceptr q = 7;
          CHILD_EXPECT(import_pointer(pool, receive<CUmemPoolPtrExportData>(socket), &q) == wanted);
          CHILD_EXPECT((q == 0) == (wanted != CUDA_SUCCESS));
        }
        CUdeviceptr q = 7;
        CHILD_EXPECT(import_pointer(pool, {}, &q) == CUDA_ERROR_INVALID_VALUE && q == 0);
        say(socket);
      });
}

}  // namespace
}  // namespace cuvmm::emulator::testing
