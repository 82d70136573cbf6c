// SPDX-License-Identifier: Apache-2.0
// Field bugs 90 and 91: kvcache-ai/Mooncake pull requests 1622 and 3546, pytorch/tensorpipe pull
// request 248, pmodels/mpich pull request 4630, openucx/ucx issue 11724.
// Tensors live at offsets of one allocation. The program sends the handle of each, and the importer
// uses the pointer that it gets. A handle always means the whole allocation, so every tensor except
// the first is read from the wrong place, and no call fails.
//
// expects: cuIpcGetMemHandle-dptr-base
#include "examples/bugs/bug.h"
#include "examples/bugs/process.h"

namespace {

constexpr std::size_t kTensor = 1 << 20;

int exporter(const bug::Peer& importer) {
  bug::start();
  CUdeviceptr memory = 0;
  CUipcMemHandle handle;
  MUST(cuMemAlloc(&memory, 4 * kTensor));
  for (unsigned i = 0; i < 4; ++i)
    MUST(cuMemsetD8(memory + i * kTensor, static_cast<unsigned char>(i), kTensor));
  MUST(cuCtxSynchronize());
  SAW(CUDA_SUCCESS, cuIpcGetMemHandle(&handle, memory + 2 * kTensor));
  importer.send(handle);
  importer.wait();
  MUST(cuMemFree(memory));
  return bug::verdict();
}

int importer(const bug::Peer& exporter) {
  const auto handle = exporter.receive<CUipcMemHandle>();
  bug::start();
  CUdeviceptr tensor = 0;
  unsigned char first = 0;
  SAW(CUDA_SUCCESS, cuIpcOpenMemHandle(&tensor, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  MUST(cuMemcpyDtoH(&first, tensor, 1));
  std::printf("tensor 2 begins with %d\n", first);
  MUST(cuIpcCloseMemHandle(tensor));
  exporter.done();
  return bug::verdict();
}

}  // namespace

int main() { return bug::in_two_processes(exporter, importer); }
