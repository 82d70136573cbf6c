// SPDX-License-Identifier: Apache-2.0
// FNV-1a with 64 bits: the same everywhere, so that it may name files and findings. No protection
// against malice.
#pragma once

#include <cstdint>
#include <string_view>

namespace cuvmm::tools {

constexpr std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace cuvmm::tools
