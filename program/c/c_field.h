// SPDX-License-Identifier: Apache-2.0
// Maps the fields of the program text's records to the fields of the C structures.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/words.h"

namespace cuvmm::program {

struct CField {
  std::string key;        ///< "fd"
  std::string path;       ///< "handle.fd"
  std::string cast;       ///< "(void*)(uintptr_t)" before a pointer's value, else ""
  bool location = false;  ///< the field is a CUmemLocation
  std::span<const Word> words;
};

/// The field with this key of a structure such as "CUmulticastObjectProp", or null.
const CField* c_field(std::string_view structure, std::string_view key);

}  // namespace cuvmm::program
