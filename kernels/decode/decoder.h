// SPDX-License-Identifier: Apache-2.0
// From the text of a kernel to code that runs.
#pragma once

#include <memory>
#include <string>

#include "kernels/instruction/names.h"
#include "kernels/run/code.h"
#include "kernels/text/syntax.h"

namespace cuvmm::kernels {

/// All of a kernel, with the functions that it calls inside of it. What one instruction of it is
/// not known for, does not run at all.
Decoded decode(const Module& module, const Function& kernel, const Addresses& addresses);

/// Where the parameters are in what a launch passes.
std::vector<Slot> layout(const std::vector<Variable>& parameters);

}  // namespace cuvmm::kernels
