// SPDX-License-Identifier: Apache-2.0
// The exporter of an IPC handle frees its memory while another process still has it open: a worker
// is told to stop, and the memory is freed before it has closed (the undefined order that the
// documentation of cuIpcOpenMemHandle names). Neither process can see it alone; with both under
// `cuvmm run`, the report puts it together.
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
