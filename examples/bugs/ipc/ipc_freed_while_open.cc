// SPDX-License-Identifier: Apache-2.0
// The exporter of an IPC handle frees its memory while another process still has it open: the
// program stops a worker, and frees the memory before the worker has closed it (the undefined order
// that the documentation of cuIpcOpenMemHandle names). Neither process can see the mistake alone;
// with both under `cuvmm run`, the report combines them.
//
// expects: cuIpcGetMemHandle-freed-after-close
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
  SAW(CUDA_SUCCESS, cuMemFree(memory));
  importer.done();
  importer.wait();
  return bug::verdict();
}

int importer(const bug::Peer& exporter) {
  const auto handle = exporter.receive<CUipcMemHandle>();
  bug::start();
  CUdeviceptr memory = 0;
  SAW(CUDA_SUCCESS, cuIpcOpenMemHandle(&memory, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  exporter.done();
  exporter.wait();
  SAW(CUDA_SUCCESS, cuIpcCloseMemHandle(memory));
  exporter.done();
  return bug::verdict();
}

}  // namespace

int main() { return bug::in_two_processes(exporter, importer); }
