// SPDX-License-Identifier: Apache-2.0
// Reads the line that the kernel logs for a fault of a GPU: "NVRM: Xid (...): 31, ... faulted @
// 0x...".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace cuvmm::tools {

/// The address in the line; nothing where the line has none.
std::optional<std::uint64_t> address_of_xid(const std::string& line);

/// Reads an address as people type it: hexadecimal with or without 0x, with `_` between digits.
std::optional<std::uint64_t> parse_address(const std::string& text);

}  // namespace cuvmm::tools
