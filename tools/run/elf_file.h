// SPDX-License-Identifier: Apache-2.0
// The headers of an ELF file that decide how the loader starts it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cuvmm::tools {

struct ElfFile {
  unsigned bits = 0;                ///< 32 or 64
  std::uint16_t machine = 0;        ///< EM_X86_64 ...
  std::string interpreter;          ///< PT_INTERP: the dynamic loader that starts it; "" when none
  std::string soname;               ///< DT_SONAME, "" when none
  std::vector<std::string> needed;  ///< DT_NEEDED, in order
  bool address_sanitizer = false;   ///< its dynamic strings name __asan_init
};

/// Nothing when the file cannot be read or is no well-formed ELF file. Reads headers and the
/// dynamic section only; every offset in the file is checked.
std::optional<ElfFile> read_elf(const std::string& path);

/// Whether the library exports a function that is named like one of the driver or the runtime
/// (cuMemAlloc, cudaMalloc), and is neither the driver nor the runtime.
bool between_program_and_driver(const std::string& path);

/// "x86-64", "AArch64" or "machine 21" (EM_ number); "32-bit x86" for a 32-bit machine with a name.
std::string machine_name(const ElfFile& elf);

}  // namespace cuvmm::tools
