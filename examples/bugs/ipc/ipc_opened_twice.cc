// SPDX-License-Identifier: Apache-2.0
// Field bugs 87 and 88: openucx/ucx issue 3192 and pull requests 4599 and 4431 (pymapd issue 202).
// A cache of IPC handles gets two requests for one handle, and opens it twice. Old drivers answered
// ALREADY_MAPPED; newer ones count the opens and give the same pointer again. The cache closes it
// once, and the exporter's memory stays mapped.
//
// expects: cuIpcOpenMemHandle-closed
#include "examples/bugs/bug.h"
#include "examples/bugs/process.h"

namespace {

int exporter(const bug::Peer& importer) {
  bug::start();
  CUdeviceptr memory = 0;
  CUipcMemHandle handle;
  MUST(cuMemAlloc(&memory, 4 << 20));
  MUST(cuIpcGetMemHandle(&handle, memory));
  importer.send(handle);
  importer.wait();
  importer.done();
  return bug::verdict();
}

int importer(const bug::Peer& exporter) {
  const auto handle = exporter.receive<CUipcMemHandle>();
  bug::start();
  CUdeviceptr first = 0, second = 0;
  SAW(CUDA_SUCCESS, cuIpcOpenMemHandle(&first, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  SAW(CUDA_SUCCESS, cuIpcOpenMemHandle(&second, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  std::printf("the same pointer: %s\n", first == second ? "yes" : "no");
  SAW(CUDA_SUCCESS, cuIpcCloseMemHandle(first));
  exporter.done();
  exporter.wait();
  return bug::verdict();
}

}  // namespace

int main() { return bug::in_two_processes(exporter, importer); }
