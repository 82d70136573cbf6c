// SPDX-License-Identifier: Apache-2.0
// What a kernel node was made with, as long as the node is: arguments too.
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
  /// Copies the arguments that `asked` points to. Those of kernelParams can be copied only where
  /// the image says how large they are; null `code`: nobody knows the function.
  KernelParams(const CUDA_KERNEL_NODE_PARAMS_v3& asked, const kernels::KernelCode* code,
               Context& context);
  KernelParams(const KernelParams&) = delete;
  KernelParams& operator=(const KernelParams&) = delete;
  ~KernelParams() = default;

  /// Its pointers are into this object.
  const CUDA_KERNEL_NODE_PARAMS_v3& params() const { return params_; }
  /// In which the function is loaded.
  const Context& context() const { return context_; }

 private:
  void keep(void** arguments, const std::vector<kernels::Parameter>& layout);
  void keep_packed(void** extra);

  CUDA_KERNEL_NODE_PARAMS_v3 params_{};
  const Context& context_;
  std::vector<char> bytes_{};
  std::size_t packed_ = 0;
  std::vector<void*> pointers_{};  ///< kernelParams, or extra
};

/// The parameters of a launch, as those of a node.
CUDA_KERNEL_NODE_PARAMS_v3 node_params(CUfunction function, const Launch& launch);

/// A node's parameters in the form of an older version.
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
