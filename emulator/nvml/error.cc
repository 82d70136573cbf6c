// SPDX-License-Identifier: Apache-2.0
#include "emulator/nvml/error.h"

#include <cstring>

#include "emulator/base/export.h"

namespace cuvmm::nvml {

CUVMM_EXPORT(const char*, nvmlErrorString, int error) {
  switch (error) {
#define CUVMM_NVML_ERROR(name, value, words) \
  case value:                                \
    return words;
#include "emulator/nvml/errors.def"
#undef CUVMM_NVML_ERROR
    default:
      return "Unknown Error";
  }
}

Error write_text(const char* text, char* out, unsigned size) {
  if (!out) return kInvalidArgument;
  const std::size_t length = std::strlen(text) + 1;
  if (length > size) return kInsufficientSize;
  std::memcpy(out, text, length);
  return kSuccess;
}

}  // namespace cuvmm::nvml
