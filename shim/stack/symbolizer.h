// SPDX-License-Identifier: Apache-2.0
// Return addresses made readable: by lib/libcuvmm-symbolize.so where it can be loaded, else dladdr.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shim/stack/frame.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

/// Loads what symbolize() needs, once. Takes the loader's locks, so the caller must hold none of
/// cuvmm's except findings_stack(), for which no thread waits without a limit.
void prepare_symbolizer() noexcept;

/// From here on symbolize() gives only modules, offsets and the names of exported functions. Called
/// before any finding.
void do_without_symbols() noexcept;

/// Returns at least one frame for each address. Never fails: unknown members stay empty. Symbols
/// take milliseconds, one thread at a time: only a thread on findings_stack() gets them, unless it
/// has Care::kAsInterrupted (shim/base/reserve.h). Other threads get modules and offsets.
std::vector<Frame> symbolize(std::span<const std::uintptr_t> addresses);
/// Inserts the Python functions at the frames of the interpreter that ran them.
std::vector<Frame> symbolize(StackId stack);

/// Called in a child of fork that was made while another thread was in symbolize() or in
/// prepare_symbolizer(): from here on symbolize() gives modules and offsets only.
void symbolizer_was_interrupted() noexcept;
/// Whether a thread is in prepare_symbolizer(). A child of fork inherits a library that is loaded
/// in part, which the loader takes for a whole one.
bool symbolizer_loads() noexcept;

}  // namespace cuvmm::shim
