// SPDX-License-Identifier: Apache-2.0
// Decodes the text of a kernel to code that runs.
#pragma once

#include <memory>
#include <string>

#include "kernels/instruction/names.h"
#include "kernels/run/code.h"
#include "kernels/text/syntax.h"

namespace cuvmm::kernels {

/// Decodes a kernel, with the functions that it calls. A kernel with an instruction that
/// the decoder does not know is refused as a whole.
Decoded decode(const Module& module, const Function& kernel, const Addresses& addresses);

}  // namespace cuvmm::kernels
