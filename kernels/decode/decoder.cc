// SPDX-License-Identifier: Apache-2.0
#include "kernels/decode/decoder.h"

#include "kernels/decode/kernel_decoder.h"

namespace cuvmm::kernels {

Decoded decode(const Module& module, const Function& kernel, const Addresses& addresses) {
  return Decoder(module, addresses).run(kernel);
}

}  // namespace cuvmm::kernels
