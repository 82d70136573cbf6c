// SPDX-License-Identifier: Apache-2.0
// The types of a kernel's parameters, by its demangled name or its PTX.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "rulebook/base/evidence.h"

namespace cuvmm::shim {

struct ParameterType {
  Evidence evidence = Evidence::kWord;  ///< of the parameter's words
  std::uint32_t size = 0;               ///< the bytes of the type, 0 unknown
  bool reads = false;                   ///< the type is a pointer to const numbers
  bool operator==(const ParameterType&) const = default;
};

/// Reads the demangled name of a C++ function: one type for each parameter. nullopt for a name
/// without a parameter list, or a name that this reader does not understand.
std::optional<std::vector<ParameterType>> types_of_name(std::string_view demangled);

}  // namespace cuvmm::shim
