// SPDX-License-Identifier: Apache-2.0
// Where parameters lie in the bytes that a launch or a call passes.
#pragma once

#include <vector>

#include "kernels/run/code.h"
#include "kernels/text/syntax.h"

namespace cuvmm::kernels {

/// The offset and the size of each parameter, in bytes.
inline std::vector<Slot> layout(const std::vector<Variable>& parameters) {
  std::vector<Slot> out;
  std::uint64_t at = 0;
  for (const Variable& each : parameters) {
    at = (at + each.align - 1) / each.align * each.align;
    out.push_back({at, each.size});
    at += each.size;
  }
  return out;
}

}  // namespace cuvmm::kernels
