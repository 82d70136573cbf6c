// SPDX-License-Identifier: Apache-2.0
// Field bug 105: pytorch/pytorch issue 196258.
// Before it unmaps, the allocator synchronises the NULL stream. That is the NULL stream of the
// current context, but another device's context is current, so the allocator does not wait for the
// work.
//
// expects: cuMemUnmap-idle
// needs: late streams
// needs: 2 devices
#include "examples/bugs/order/blocked.h"

int main() {
  int devices = 0;
  const std::size_t size = bug::start();
  MUST(cuDeviceGetCount(&devices));
  if (devices < 2) bug::skip("one device");
  const bug::Mapped memory = bug::map_one(size);
  bug::BlockedStream busy(CU_STREAM_DEFAULT);
  MUST(cuMemsetD8Async(memory.address, 1, size, busy.get()));

  bug::start(1);  // as after a loop over all devices
  SAW(CUDA_SUCCESS, cuStreamSynchronize(nullptr));
  SAW(CUDA_SUCCESS, cuMemUnmap(memory.address, size));
  SAW(CUDA_SUCCESS, cuMemRelease(memory.handle));
  SAW(CUDA_SUCCESS, cuMemAddressFree(memory.address, size));
  busy.let_go();
  bug::start(0);
  FAULTED(cuStreamSynchronize(busy.get()));
  return bug::verdict();
}
