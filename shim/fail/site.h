// SPDX-License-Identifier: Apache-2.0
// A place in the program from which it calls a function, by a number that is equal in every run:
// from the modules of the stack and the offsets in them, wherever they are loaded, and from lines
// of Python.
#pragma once

#include <cstdint>
#include <string>

#include "injected_failures/spec.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

/// The number of a call of this function with this stack. Frames that lie in no file (generated
/// code) are left out.
std::uint64_t site_number(EntryPoint entry, StackId stack);

/// "1f00d4c2a7b3e596".
std::string site_text(std::uint64_t site);

/// Whether the clause's `in` and `at` hold for the stack. Finds symbols, which takes milliseconds.
bool frames_match(const injected_failures::Clause& clause, StackId stack);

}  // namespace cuvmm::shim
