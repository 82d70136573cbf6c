// SPDX-License-Identifier: Apache-2.0
// A kernel that writes to its argument. The kernel is PTX, so that the emulator can run it too.
#pragma once

#include "examples/bugs/bug.h"

namespace bug {

/// The kernel belongs to the context that was current when the object was made.
class FillKernel {
 public:
  FillKernel() {
    CUmodule module = nullptr;
    MUST(cuModuleLoadData(&module, kText));
    MUST(cuModuleGetFunction(&function_, module, "fill"));
  }
  /// Queues the kernel: one warp writes a word each to the 128 bytes at `to`.
  CUresult operator()(CUdeviceptr to, CUstream stream) const {
    constexpr unsigned kThreads = 32;
    void* parameters[] = {&to};
    return cuLaunchKernel(function_, 1, 1, 1, kThreads, 1, 1, 0, stream, parameters, nullptr);
  }
  /// The kernel as a node of a graph. Its one parameter is the address to write to.
  CUDA_KERNEL_NODE_PARAMS node(void** parameters) const {
    constexpr unsigned kThreads = 32;
    CUDA_KERNEL_NODE_PARAMS params{};
    params.func = function_;
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = kThreads;
    params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = parameters;
    return params;
  }

 private:
  static constexpr char kText[] = R"(
.version 7.0
.target sm_70
.address_size 64

.visible .entry fill(.param .u64 .ptr .global .align 4 to)
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<4>;

	ld.param.u64 %rd1, [to];
	cvta.to.global.u64 %rd2, %rd1;
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd3, %rd2, %rd3;
	st.global.u32 [%rd3], %r1;
	ret;
}
)";
  CUfunction function_ = nullptr;
};

}  // namespace bug
