// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernels.h"

#include "kernels/decode/decoder.h"
#include "kernels/image/join.h"
#include "kernels/run/run_grid.h"
#include "kernels/watch/watch.h"

namespace cuvmm::kernels {

bool present() { return true; }

bool has_text(const DeviceCode& code, std::string_view kernel) {
  return code.ptx && code.ptx->function(kernel);
}

CUresult link(const std::vector<const DeviceCode*>& inputs, std::string& text, std::string& why) {
  std::vector<const Module*> modules;
  for (const DeviceCode* each : inputs) {
    if (!each->ptx) {
      why = "input " + std::to_string(modules.size() + 1) + " has machine code alone";
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    modules.push_back(each->ptx.get());
  }
  const Error error = join(modules, text);
  why = error.message;
  return error ? CUDA_ERROR_INVALID_SOURCE : CUDA_SUCCESS;
}

Decoded decode(const DeviceCode& code, std::string_view kernel, const Addresses& addresses) {
  return decode(*code.ptx, *code.ptx->function(kernel), addresses);
}

Fault run(const Code& code, const Shape& shape, const std::vector<char>& parameters, Memory& memory,
          std::uint64_t steps, const Checks& checks, std::vector<Fault>& found) {
  Watch watch(checks, shape, memory, found);
  Grid grid(code, shape, parameters, memory, steps, checks.any() ? &watch : nullptr);
  return run(grid);
}

SourceLine source_of(const DeviceCode& code, int ptx_line) {
  return code.ptx ? source_of(code.ptx->text, ptx_line) : SourceLine{};
}

}  // namespace cuvmm::kernels
