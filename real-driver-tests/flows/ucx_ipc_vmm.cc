// SPDX-License-Identifier: Apache-2.0
// UCX's cuda_ipc with memory of cuMemCreate: a FABRIC handle where there is a fabric, else the
// descriptor, which the other process takes by pidfd_getfd(2). Its handle is released as soon as
// the memory is mapped; the cached mapping serves again; the owner's descriptor is closed last.
//
// expects: nothing
#include "examples/bugs/process.h"
#include "real-driver-tests/flows/descriptor.h"
#include "real-driver-tests/flows/remote_cache.h"

namespace {

constexpr auto kFabric = static_cast<CUmemAllocationHandleType>(8);
constexpr auto kPosix = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

struct Shareable {
  CUmemAllocationHandleType type = kPosix;
  unsigned char fabric[64] = {};
  pid_t pid = 0;
  int fd = -1;
};
using Key = flow::Key<Shareable>;

// The first kind of handle that the machine supports.
flow::Mapped allocate(std::size_t size) {
  const auto both = static_cast<CUmemAllocationHandleType>(kFabric | kPosix);
  const CUmemAllocationProp prop = bug::memory_on(0, both);
  CUmemGenericAllocationHandle handle = 0;
  if (cuMemCreate(&handle, size, &prop, 0) != CUDA_SUCCESS) return flow::map_new(size, kPosix);
  flow::Mapped m{0, handle, size};
  MUST(cuMemAddressReserve(&m.address, size, 0, 0, 0));
  flow::map_at(m.address, size, handle);
  return m;
}

Key pack(CUdeviceptr inside) {
  Key key;
  MUST(cuMemGetAddressRange(&key.base, &key.size, inside));
  key.buffer_id = flow::buffer_id(inside);
  const flow::Sharing sharing = flow::sharing_of(inside);
  HOLD(!sharing.legacy);
  HOLD(!sharing.pool);
  CUmemGenericAllocationHandle handle = 0;
  MUST(cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(inside)));
  if ((sharing.types & kFabric) &&
      cuMemExportToShareableHandle(key.handle.fabric, handle, kFabric, 0) == CUDA_SUCCESS) {
    key.handle.type = kFabric;
  } else {
    MUST(cuMemExportToShareableHandle(&key.handle.fd, handle, kPosix, 0));
    key.handle.pid = getpid();
  }
  SAW(CUDA_SUCCESS, cuMemRelease(handle));
  return key;
}

CUdeviceptr open(const Key& key) {
  CUmemGenericAllocationHandle handle = 0;
  if (key.handle.type == kFabric) {
    void* bytes = const_cast<unsigned char*>(key.handle.fabric);
    MUST(cuMemImportFromShareableHandle(&handle, bytes, kFabric));
  } else {
    const int fd = flow::taken_from(key.handle.pid, key.handle.fd);
    void* descriptor = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd));
    MUST(cuMemImportFromShareableHandle(&handle, descriptor, kPosix));
    close(fd);
  }
  CUdeviceptr address = 0;
  MUST(cuMemAddressReserve(&address, key.size, 0, 0, 0));
  flow::map_at(address, key.size, handle);
  SAW(CUDA_SUCCESS, cuMemRelease(handle));
  return address;
}

int owner(const bug::Peer& peer) {
  flow::let_others_take();
  const std::size_t size = 2 * bug::start();
  const flow::Mapped mapped = allocate(size);
  MUST(cuMemsetD8(mapped.address, 7, size));
  MUST(cuCtxSynchronize());
  const Key key = pack(mapped.address + 64);
  peer.send(key);
  peer.wait();
  HOLD(flow::filled(mapped.address, size, 9));
  if (key.handle.fd >= 0) close(key.handle.fd);
  SAW(CUDA_SUCCESS, cuMemRelease(mapped.handle));
  flow::unmap(mapped.address, size);
  peer.done();
  return bug::verdict();
}

int other(const bug::Peer& peer) {
  const auto key = peer.receive<Key>();
  bug::start();
  flow::RemoteCache<Shareable> cache(4, open, flow::unmap);
  for (int use = 0; use < 3; ++use) {
    const CUdeviceptr mapped = cache.get(key);
    HOLD(flow::filled(mapped, key.size, use == 0 ? 7 : 9));
    MUST(cuMemsetD8(mapped, 9, key.size));
    MUST(cuCtxSynchronize());
    cache.put(key);
  }
  HOLD(cache.opened == 1);
  peer.done();
  peer.wait();  // the owner has released the memory; this process's mapping holds it
  HOLD(flow::filled(cache.get(key), key.size, 9));
  cache.purge();
  return bug::verdict();
}

}  // namespace

int main() { return bug::in_two_processes(owner, other); }
