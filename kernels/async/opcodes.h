// SPDX-License-Identifier: Apache-2.0
// The opcodes of this folder.
#pragma once

#include <span>

#include "kernels/instruction/site.h"

namespace cuvmm::kernels {

std::span<const Opcode> mbarrier_opcodes();
std::span<const Opcode> cluster_opcodes();

}  // namespace cuvmm::kernels
