// SPDX-License-Identifier: Apache-2.0
// A graph is captured with an address whose memory is to be mapped later, and is launched before:
// kekzl/imp issue 1648, where nothing has taken the place of what the address meant.
// A capture keeps only the address, so the memory there is not checked before the launch. The first
// page of the buffer is mapped; the graph writes to the third one.
//
// expects: launch-argument-mapped
// needs: late streams
#include "examples/bugs/order/fill_kernel.h"

int main() {
  const std::size_t page = bug::start();
  const CUmemAllocationProp prop = bug::memory_on(0);
  const CUmemAccessDesc access = bug::access_from(0);
  CUdeviceptr buffer = 0;
  CUmemGenericAllocationHandle handle = 0;
  MUST(cuMemAddressReserve(&buffer, 3 * page, 0, 0, 0));
  MUST(cuMemCreate(&handle, page, &prop, 0));
  MUST(cuMemMap(buffer, page, 0, handle, 0));
  MUST(cuMemSetAccess(buffer, page, &access, 1));

  const bug::FillKernel fill;
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  MUST(fill(buffer + 2 * page, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuGraphInstantiate(&executable, graph, 0));

  SAW(CUDA_SUCCESS, cuGraphLaunch(executable, stream));
  SAW(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
  return bug::verdict();
}
