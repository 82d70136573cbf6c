// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/opcodes.h"

#include <algorithm>
#include <vector>

#include "kernels/async/opcodes.h"

namespace cuvmm::kernels {

namespace {

std::vector<Opcode> all_opcodes() {
  std::vector<Opcode> all;
  for (const auto family :
       {integer_opcodes(), carry_opcodes(), bit_opcodes(), field_opcodes(), video_opcodes(),
        compare_opcodes(), float_opcodes(), convert_opcodes(), memory_opcodes(), atomic_opcodes(),
        warp_opcodes(), matrix_opcodes(), texture_opcodes(), fragment_opcodes(), mbarrier_opcodes(),
        cluster_opcodes(), other_opcodes()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  std::ranges::sort(all, {}, &Opcode::name);
  return all;
}

}  // namespace

Decode opcode_named(std::string_view base) {
  static const auto* const all = new std::vector<Opcode>(all_opcodes());
  const auto found = std::ranges::lower_bound(*all, base, {}, &Opcode::name);
  return found == all->end() || found->name != base ? nullptr : found->decode;
}

}  // namespace cuvmm::kernels
