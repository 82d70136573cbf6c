// SPDX-License-Identifier: Apache-2.0
// NVIDIA/warp issue 1419, in small: a graph frees its memory without a dependency on the work that
// uses it. The free was captured before its stream waited for the other one. The join behind it
// makes the capture valid, but orders nothing: a launch may free the memory while the kernel still
// writes to it. No error shows until another graph needs the memory at that moment.
//
// expects: graph-memory-ordered
#include "examples/bugs/order/fill_kernel.h"

int main() {
  const std::size_t size = bug::start();
  const bug::FillKernel fill;
  CUstream stream = nullptr, side = nullptr;
  CUevent forked = nullptr, joined = nullptr;
  CUdeviceptr buffer = 0;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  MUST(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
  MUST(cuEventCreate(&forked, CU_EVENT_DISABLE_TIMING));
  MUST(cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING));

  MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  MUST(cuMemAllocAsync(&buffer, size, stream));
  MUST(cuEventRecord(forked, stream));
  MUST(cuStreamWaitEvent(side, forked, 0));
  MUST(fill(buffer, side));
  MUST(cuEventRecord(joined, side));
  MUST(cuMemFreeAsync(buffer, stream));  // it should come after the next line
  MUST(cuStreamWaitEvent(stream, joined, 0));
  MUST(cuStreamEndCapture(stream, &graph));

  SAW(CUDA_SUCCESS, cuGraphInstantiate(&executable, graph, 0));
  return bug::verdict();
}
