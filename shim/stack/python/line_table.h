// SPDX-License-Identifier: Apache-2.0
// Maps an instruction of CPython to a line of its file.
#pragma once

#include <cstdint>

#include "shim/stack/python/guarded_memory.h"
#include "shim/stack/python/layout.h"

namespace cuvmm::shim {

/// The line of the instruction at byte `instruction` of the code, by the table of `size` bytes at
/// `table`. `first_line` is the code object's. Returns 0 if the table has no line for the
/// instruction, cannot be read, or is not of this kind.
int python_line(PythonLines kind, GuardedMemory& memory, std::uintptr_t table, std::size_t size,
                int first_line, int instruction) noexcept;

}  // namespace cuvmm::shim
