// SPDX-License-Identifier: Apache-2.0
// Field bug: ggml-org/llama.cpp issue 26771.
// A captured graph keeps the address of its work. Then the program flushes a cache, which unmaps
// the memory behind the address, and launches the graph once more.
//
// expects: launch-argument-alive
// needs: late streams
#include "examples/bugs/order/blocked.h"

int main() {
  const std::size_t size = bug::start();
  const bug::Mapped memory = bug::map_one(size);
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  MUST(cuMemsetD8Async(memory.address, 1, size, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuGraphInstantiate(&executable, graph, 0));
  MUST(cuGraphLaunch(executable, stream));
  MUST(cuStreamSynchronize(stream));

  MUST(cuMemUnmap(memory.address, size));
  MUST(cuMemRelease(memory.handle));
  MUST(cuMemAddressFree(memory.address, size));
  SAW(CUDA_SUCCESS, cuGraphLaunch(executable, stream));
  FAULTED(cuStreamSynchronize(stream));
  return bug::verdict();
}
