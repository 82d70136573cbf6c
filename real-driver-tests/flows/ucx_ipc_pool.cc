// SPDX-License-Identifier: Apache-2.0
// UCX's cuda_ipc with memory of a pool: the pool is imported once, each pointer for itself
// (cuMemPoolExportPointer), freed here before the owner frees it, and the pool goes last.
//
// expects: nothing
#include "examples/bugs/process.h"
#include "real-driver-tests/flows/descriptor.h"
#include "real-driver-tests/flows/remote_cache.h"

namespace {

constexpr auto kPosix = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
constexpr std::size_t kSize = 4 << 20;
constexpr int kPointers = 3;
using Key = flow::Key<CUmemPoolPtrExportData>;

struct Pool {
  pid_t pid = 0;
  int fd = -1;
};

Key pack(CUdeviceptr inside, CUmemoryPool pool) {
  Key key;
  MUST(cuMemGetAddressRange(&key.base, &key.size, inside));
  key.buffer_id = flow::buffer_id(inside);
  const flow::Sharing sharing = flow::sharing_of(inside);
  HOLD(!sharing.legacy);
  HOLD(sharing.pool == pool);
  // UCX first tests whether this is memory of cuMemCreate, and then looks for a pool.
  CUmemGenericAllocationHandle none = 0;
  HOLD(cuMemRetainAllocationHandle(&none, reinterpret_cast<void*>(inside)) != CUDA_SUCCESS);
  MUST(cuMemPoolExportPointer(&key.handle, key.base));
  return key;
}

int owner(const bug::Peer& peer) {
  flow::let_others_take();
  bug::start();
  CUmemoryPool pool = flow::make_pool(kPosix);
  const CUmemAccessDesc own = bug::access_from(0);
  MUST(cuMemPoolSetAccess(pool, &own, 1));
  CUstream stream = nullptr;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  Pool shared{getpid(), -1};
  MUST(cuMemPoolExportToShareableHandle(&shared.fd, pool, kPosix, 0));
  peer.send(shared);
  CUdeviceptr pointers[kPointers];
  for (int i = 0; i < kPointers; ++i) {
    MUST(cuMemAllocFromPoolAsync(&pointers[i], kSize, pool, stream));
    MUST(cuMemsetD8Async(pointers[i], static_cast<unsigned char>(i + 1), kSize, stream));
    MUST(cuStreamSynchronize(stream));
    peer.send(pack(pointers[i], pool));
  }
  peer.wait();
  for (const CUdeviceptr pointer : pointers) {
    HOLD(flow::filled(pointer, 64, 0x55));
    SAW(CUDA_SUCCESS, cuMemFreeAsync(pointer, stream));
  }
  MUST(cuStreamSynchronize(stream));
  close(shared.fd);
  SAW(CUDA_SUCCESS, cuMemPoolDestroy(pool));
  SAW(CUDA_SUCCESS, cuStreamDestroy(stream));
  return bug::verdict();
}

int other(const bug::Peer& peer) {
  const auto shared = peer.receive<Pool>();
  bug::start();
  const int fd = flow::taken_from(shared.pid, shared.fd);
  CUmemoryPool pool = nullptr;
  MUST(cuMemPoolImportFromShareableHandle(
      &pool, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)), kPosix, 0));
  close(fd);
  const CUmemAccessDesc own = bug::access_from(0);
  MUST(cuMemPoolSetAccess(pool, &own, 1));
  flow::RemoteCache<CUmemPoolPtrExportData> cache(
      2,
      [&](const Key& key) {
        CUdeviceptr address = 0;
        auto data = key.handle;
        MUST(cuMemPoolImportPointer(&address, pool, &data));
        return address;
      },
      [](CUdeviceptr address, std::size_t) { SAW(CUDA_SUCCESS, cuMemFree(address)); });
  for (int i = 0; i < kPointers; ++i) {
    const auto key = peer.receive<Key>();
    const CUdeviceptr address = cache.get(key);
    HOLD(flow::filled(address, key.size, static_cast<unsigned char>(i + 1)));
    HOLD(cache.get(key) == address);
    MUST(cuMemsetD8(address, 0x55, 64));
    MUST(cuCtxSynchronize());
    cache.put(key);
    cache.put(key);
  }
  HOLD(cache.opened == kPointers);
  cache.purge();
  SAW(CUDA_SUCCESS, cuMemPoolDestroy(pool));
  peer.done();
  return bug::verdict();
}

}  // namespace

int main() { return bug::in_two_processes(owner, other); }
