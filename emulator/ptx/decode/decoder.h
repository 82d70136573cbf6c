// SPDX-License-Identifier: Apache-2.0
// From the text of a kernel to code that runs.
#pragma once

#include <memory>
#include <string>

#include "emulator/ptx/decode/names.h"
#include "emulator/ptx/run/code.h"
#include "emulator/ptx/text/syntax.h"

namespace cuvmm::emulator::ptx {

struct Decoded {
  std::shared_ptr<const Code> code;  ///< null: it cannot run here
  std::string why_not;               ///< names the instruction and its line
};

/// All of a kernel, with the functions that it calls inside of it. What one instruction of it is
/// not known for, does not run at all.
Decoded decode(const Module& module, const Function& kernel, const Addresses& addresses);

/// Where the parameters are in what a launch passes.
std::vector<Slot> layout(const std::vector<Variable>& parameters);

}  // namespace cuvmm::emulator::ptx
