// SPDX-License-Identifier: Apache-2.0
// NVIDIA/warp issue 1419 by another way: the graph is in order when it is instantiated, for its
// kernel works on other memory. Later one parameter is changed, and the kernel gets memory that the
// graph allocates. Parameters can be changed, dependencies cannot: nothing orders the kernel behind
// the allocation, nor before the free.
//
// expects: graph-memory-ordered
#include "examples/bugs/order/fill_kernel.h"

int main() {
  const std::size_t size = bug::start();
  const bug::FillKernel fill;
  CUgraph graph = nullptr;
  CUgraphNode allocation = nullptr, use = nullptr, release = nullptr;
  CUgraphExec executable = nullptr;
  CUdeviceptr to = 0;
  MUST(cuMemAlloc(&to, size));
  MUST(cuGraphCreate(&graph, 0));

  CUDA_MEM_ALLOC_NODE_PARAMS memory{};
  memory.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  memory.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  memory.bytesize = size;
  MUST(cuGraphAddMemAllocNode(&allocation, graph, nullptr, 0, &memory));
  void* parameters[] = {&to};
  const CUDA_KERNEL_NODE_PARAMS kernel = fill.node(parameters);
  MUST(cuGraphAddKernelNode(&use, graph, nullptr, 0, &kernel));
  MUST(cuGraphAddMemFreeNode(&release, graph, &allocation, 1, memory.dptr));
  MUST(cuGraphInstantiate(&executable, graph, 0));

  to = memory.dptr;
  MUST(cuGraphExecKernelNodeSetParams(executable, use, &kernel));
  return bug::verdict();
}
