// SPDX-License-Identifier: Apache-2.0
// NVML's return codes, and the function that writes a text or answers that it does not fit.
#pragma once

namespace cuvmm::nvml {

/// nvmlReturn_t: CUVMM_NVML_ERROR(name here, its number, its words).
enum Error : int {
#define CUVMM_NVML_ERROR(name, value, words) name = value,
#include "emulator/nvml/errors.def"
#undef CUVMM_NVML_ERROR
};

/// Writes text and its terminating zero into a buffer of `size` bytes.
Error write_text(const char* text, char* out, unsigned size);

}  // namespace cuvmm::nvml
