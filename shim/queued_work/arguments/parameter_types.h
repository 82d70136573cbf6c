// SPDX-License-Identifier: Apache-2.0
// The types of a kernel's parameters, as its demangled name or its PTX tells them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "rulebook/base/evidence.h"

namespace cuvmm::shim {

struct ParameterType {
  Evidence evidence = Evidence::kWord;  ///< of its words
  std::uint32_t size = 0;               ///< bytes that the type has, 0 unknown
  bool reads = false;                   ///< a pointer to numbers that are const
  bool operator==(const ParameterType&) const = default;
};

/// Of a C++ function, by its demangled name: one type for each parameter. Nothing for a name
/// without a parameter list, or one that this reader does not understand.
std::optional<std::vector<ParameterType>> types_of_name(std::string_view demangled);

}  // namespace cuvmm::shim
