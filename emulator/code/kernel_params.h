// SPDX-License-Identifier: Apache-2.0
// The parameters that a kernel node was made with, and copies of its arguments, which live as long
// as the node.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <vector>

#include "emulator/code/kernel.h"
#include "emulator/objects/context.h"
#include "kernels/kernels.h"

namespace cuvmm::emulator {

class KernelParams {
 public:
  /// Copies the arguments that `asked` points to. The arguments of kernelParams can be copied only
  /// where the image gives their sizes; null `code`: the function is unknown.
  KernelParams(const CUDA_KERNEL_NODE_PARAMS_v3& asked, const kernels::KernelCode* code,
               Context& context);
  KernelParams(const KernelParams&) = delete;
  KernelParams& operator=(const KernelParams&) = delete;
  ~KernelParams() = default;

  /// The parameters; their pointers lead into this object.
  const CUDA_KERNEL_NODE_PARAMS_v3& params() const { return params_; }
  /// The context that the function is loaded in.
  Context& context() const { return context_; }

 private:
  void keep(void** arguments, const std::vector<kernels::Parameter>& layout);
  void keep_packed(void** extra);

  CUDA_KERNEL_NODE_PARAMS_v3 params_{};
  Context& context_;
  std::vector<char> bytes_{};
  std::size_t packed_ = 0;
  std::vector<void*> pointers_{};  ///< the pointers of kernelParams, or of extra
};

/// The parameters of a launch in the form of a node's.
CUDA_KERNEL_NODE_PARAMS_v3 node_params(CUfunction function, const Launch& launch);

/// Converts a node's parameters to the structure of an older version.
template <class Kernel>
Kernel older_form(const CUDA_KERNEL_NODE_PARAMS_v3& from) {
  Kernel out{};
  out.func = from.func;
  out.gridDimX = from.gridDimX;
  out.gridDimY = from.gridDimY;
  out.gridDimZ = from.gridDimZ;
  out.blockDimX = from.blockDimX;
  out.blockDimY = from.blockDimY;
  out.blockDimZ = from.blockDimZ;
  out.sharedMemBytes = from.sharedMemBytes;
  out.kernelParams = from.kernelParams;
  out.extra = from.extra;
  if constexpr (requires { out.kern; }) {
    out.kern = from.kern;
    out.ctx = from.ctx;
  }
  return out;
}

}  // namespace cuvmm::emulator
