// SPDX-License-Identifier: Apache-2.0
// NVML's return codes, and the one for a text that does not fit.
#pragma once

namespace cuvmm::nvml {

/// nvmlReturn_t: CUVMM_NVML_ERROR(our name, its number, its words).
enum Error : int {
#define CUVMM_NVML_ERROR(name, value, words) name = value,
#include "emulator/nvml/errors.def"
#undef CUVMM_NVML_ERROR
};

/// Writes text into a buffer of `size` bytes, its end included.
Error write_text(const char* text, char* out, unsigned size);

}  // namespace cuvmm::nvml
