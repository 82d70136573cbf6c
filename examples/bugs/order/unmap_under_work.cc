// SPDX-License-Identifier: Apache-2.0
// Field bug 103: vllm-project/vllm pull request 43020.
// An allocator unmaps memory as soon as its last reference on the host ends, while work that uses
// the memory is still queued. cuMemUnmap does not wait for that work, unlike cuMemFree. The work
// faults, and a later call, often far away, is the first to report it.
//
// expects: cuMemUnmap-idle
// needs: late streams
#include "examples/bugs/order/blocked.h"

int main() {
  const std::size_t size = bug::start();
  const bug::Mapped memory = bug::map_one(size);
  bug::BlockedStream busy;
  MUST(cuMemsetD8Async(memory.address, 1, size, busy.get()));

  SAW(CUDA_SUCCESS, cuMemUnmap(memory.address, size));
  SAW(CUDA_SUCCESS, cuMemRelease(memory.handle));
  SAW(CUDA_SUCCESS, cuMemAddressFree(memory.address, size));
  busy.let_go();
  FAULTED(cuStreamSynchronize(busy.get()));
  return bug::verdict();
}
