// SPDX-License-Identifier: Apache-2.0
// UCX's cuda_ipc with memory of cuMemAlloc: keys of several buffers, a cache on the other side that
// holds two, a buffer that makes way for another at its address, asynchronous copies with an event
// behind each, and closing before the owner frees.
//
// expects: nothing
#include "examples/bugs/process.h"
#include "real-driver-tests/flows/remote_cache.h"

namespace {

using Key = flow::Key<CUipcMemHandle>;
constexpr std::size_t kSize = 4 << 20;
constexpr int kBuffers = 3, kRounds = 8;

Key pack(CUdeviceptr inside) {
  Key key;
  MUST(cuMemGetAddressRange(&key.base, &key.size, inside));
  key.buffer_id = flow::buffer_id(inside);
  HOLD(flow::sharing_of(inside).pool == nullptr);
  MUST(cuIpcGetMemHandle(&key.handle, key.base));
  return key;
}

// One process's part: retains its device's primary context, and pushes it for each of UCX's steps.
template <class Body>
auto in_primary_context(Body&& body) {
  CUcontext context = nullptr;
  MUST(cuDevicePrimaryCtxRetain(&context, 0));
  MUST(cuCtxPushCurrent(context));
  auto result = body();
  MUST(cuCtxPopCurrent(&context));
  MUST(cuDevicePrimaryCtxRelease(0));
  return result;
}

int owner(const bug::Peer& peer) {
  bug::start();
  CUdeviceptr buffers[kBuffers];
  for (int i = 0; i < kBuffers; ++i) {
    MUST(cuMemAlloc(&buffers[i], kSize));
    MUST(cuMemsetD8(buffers[i], static_cast<unsigned char>(i), kSize));
  }
  MUST(cuCtxSynchronize());
  for (int round = 0; round < kRounds; ++round) {
    const int i = round % kBuffers;
    peer.send(pack(buffers[i] + 4096));
    peer.wait();
    HOLD(flow::filled(buffers[i], 64, static_cast<unsigned char>(0x80 + round)));
    MUST(cuMemsetD8(buffers[i], static_cast<unsigned char>(i), kSize));
    MUST(cuCtxSynchronize());
  }
  peer.done();
  peer.wait();  // the other process has closed everything
  for (const CUdeviceptr buffer : buffers) SAW(CUDA_SUCCESS, cuMemFree(buffer));
  return bug::verdict();
}

int other(const bug::Peer& peer) {
  std::vector<Key> keys;
  keys.push_back(peer.receive<Key>());
  bug::start();
  flow::RemoteCache<CUipcMemHandle> cache(
      2,
      [](const Key& key) {
        return in_primary_context([&] {
          CUdeviceptr mapped = 0;
          MUST(cuIpcOpenMemHandle(&mapped, key.handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
          return mapped;
        });
      },
      [](CUdeviceptr mapped, std::size_t) {
        in_primary_context([&] { return SAW(CUDA_SUCCESS, cuIpcCloseMemHandle(mapped)); });
      });
  CUdeviceptr here = 0;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  MUST(cuMemAlloc(&here, kSize));
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  for (int round = 0; round < kRounds; ++round) {
    const Key& key = keys.back();
    const CUdeviceptr mapped = cache.get(key);
    MUST(cuMemcpyDtoDAsync(here, mapped, kSize, stream));
    MUST(cuMemsetD8Async(mapped, static_cast<unsigned char>(0x80 + round), 64, stream));
    MUST(cuEventRecord(event, stream));
    while (cuEventQuery(event) == CUDA_ERROR_NOT_READY) {
    }
    cache.put(key);
    HOLD(flow::filled(here, kSize, static_cast<unsigned char>(round % kBuffers)));
    peer.done();
    if (round + 1 < kRounds) keys.push_back(peer.receive<Key>());
  }
  HOLD(cache.opened == kRounds);  // three buffers in turn, and a cache for two
  cache.purge();
  peer.wait();
  SAW(CUDA_SUCCESS, cuEventDestroy(event));
  SAW(CUDA_SUCCESS, cuStreamDestroy(stream));
  SAW(CUDA_SUCCESS, cuMemFree(here));
  peer.done();
  return bug::verdict();
}

}  // namespace

int main() { return bug::in_two_processes(owner, other); }
