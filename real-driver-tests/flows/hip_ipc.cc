// SPDX-License-Identifier: Apache-2.0
// Uses legacy IPC as hip-tests do: another process opens memory and an event, waits for the event
// on its stream before it reads, writes an answer into the memory, and closes both.
//
// expects: nothing
#include "examples/bugs/process.h"
#include "real-driver-tests/flows/flow.h"

namespace {

constexpr std::size_t kSize = 1 << 20;

int owner(const bug::Peer& peer) {
  bug::start();
  CUdeviceptr memory = 0;
  CUevent ready = nullptr;
  CUstream stream = nullptr;
  CUipcMemHandle memory_handle;
  CUipcEventHandle event_handle;
  MUST(cuMemAlloc(&memory, kSize));
  MUST(cuEventCreate(&ready, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  MUST(cuIpcGetMemHandle(&memory_handle, memory));
  CUipcMemHandle again;
  MUST(cuIpcGetMemHandle(&again, memory));  // any number of times
  MUST(cuIpcGetEventHandle(&event_handle, ready));
  MUST(cuMemsetD8Async(memory, 0x11, kSize, stream));
  MUST(cuEventRecord(ready, stream));
  peer.send(memory_handle);
  peer.send(event_handle);
  peer.wait();
  HOLD(flow::filled(memory, kSize, 0x22));
  SAW(CUDA_SUCCESS, cuStreamDestroy(stream));
  SAW(CUDA_SUCCESS, cuEventDestroy(ready));
  SAW(CUDA_SUCCESS, cuMemFree(memory));
  return bug::verdict();
}

int other(const bug::Peer& peer) {
  const auto memory_handle = peer.receive<CUipcMemHandle>();
  const auto event_handle = peer.receive<CUipcEventHandle>();
  bug::start();
  CUdeviceptr memory = 0;
  CUevent ready = nullptr;
  CUstream stream = nullptr;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  SAW(CUDA_SUCCESS, cuIpcOpenMemHandle(&memory, memory_handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  SAW(CUDA_SUCCESS, cuIpcOpenEventHandle(&ready, event_handle));
  SAW(CUDA_SUCCESS, cuStreamWaitEvent(stream, ready, 0));
  std::vector<unsigned char> bytes(kSize);
  MUST(cuMemcpyDtoHAsync(bytes.data(), memory, kSize, stream));
  MUST(cuStreamSynchronize(stream));
  HOLD(bytes.front() == 0x11 && bytes.back() == 0x11);
  MUST(cuMemsetD8Async(memory, 0x22, kSize, stream));
  MUST(cuStreamSynchronize(stream));
  SAW(CUDA_SUCCESS, cuIpcCloseMemHandle(memory));
  SAW(CUDA_SUCCESS, cuEventDestroy(ready));
  SAW(CUDA_SUCCESS, cuStreamDestroy(stream));
  peer.done();
  return bug::verdict();
}

}  // namespace

int main() { return bug::in_two_processes(owner, other); }
