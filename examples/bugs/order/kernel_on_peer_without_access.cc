// SPDX-License-Identifier: Apache-2.0
// As field bugs 31 and 34 (ggml-org/llama.cpp pull requests 24491 and 4606), with a kernel: a
// device works on another one's mapped memory, to which only the other one was given access.
// cuDeviceCanAccessPeer says that it could, and peer access between contexts does not apply to
// mapped memory. A copy would be refused at once; the kernel is queued, and faults.
//
// expects: launch-argument-access
// needs: late streams
// needs: 2 devices
#include "examples/bugs/order/blocked.h"
#include "examples/bugs/order/fill_kernel.h"

int main() {
  int devices = 0;
  const std::size_t size = bug::start();
  MUST(cuDeviceGetCount(&devices));
  if (devices < 2) bug::skip("one device");
  const bug::Mapped memory = bug::map_one(size);  // on device 0, accessible to device 0

  bug::start(1);
  const bug::FillKernel fill;
  CUstream stream = nullptr;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  SAW(CUDA_SUCCESS, fill(memory.address, stream));
  SAW(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
  return bug::verdict();
}
