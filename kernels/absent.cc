// SPDX-License-Identifier: Apache-2.0
// The interface of a build without kernels: every image is refused, so that the emulator has no
// kernel to decode or to run.
#include "kernels/kernels.h"

namespace cuvmm::kernels {

constexpr const char* kWhy = "this build has no kernels";

bool present() { return false; }

const KernelCode* DeviceCode::kernel(std::string_view) const { return nullptr; }

const VariableCode* DeviceCode::variable(std::string_view) const { return nullptr; }

CUresult read_device_code(const CodeBytes&, Capability, DeviceCode& code, const Compiler&) {
  code.error = kWhy;
  return CUDA_ERROR_NOT_SUPPORTED;
}

bool has_text(const DeviceCode&, std::string_view) { return false; }

CUresult link(const std::vector<const DeviceCode*>&, std::string&, std::string& why) {
  why = kWhy;
  return CUDA_ERROR_NOT_SUPPORTED;
}

Decoded decode(const DeviceCode&, std::string_view, const Addresses&) { return {nullptr, kWhy}; }

Fault run(const Code&, const Shape&, const std::vector<char>&, Memory&, std::uint64_t,
          const Checks&, std::vector<Fault>&) {
  return {.code = CUDA_ERROR_NOT_SUPPORTED, .what = kWhy};
}

SourceLine source_of(const DeviceCode&, int) { return {}; }

}  // namespace cuvmm::kernels
