// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernels.h"

#include "kernels/decode/decoder.h"
#include "kernels/run/run_grid.h"

namespace cuvmm::kernels {

bool present() { return true; }

bool has_text(const DeviceCode& code, std::string_view kernel) {
  return code.ptx && code.ptx->function(kernel);
}

Decoded decode(const DeviceCode& code, std::string_view kernel, const Addresses& addresses) {
  return decode(*code.ptx, *code.ptx->function(kernel), addresses);
}

Fault run(const Code& code, const Shape& shape, const std::vector<char>& parameters, Memory& memory,
          std::uint64_t steps) {
  Grid grid(code, shape, parameters, memory, steps);
  return run(grid);
}

}  // namespace cuvmm::kernels
