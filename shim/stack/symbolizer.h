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
/// ours but findings_stack(), for which nobody waits without a limit.
void prepare_symbolizer() noexcept;

/// From here on modules, offsets and the names of exported functions only. Before any finding.
void do_without_symbols() noexcept;

/// At least one frame per address. Never fails: what is not known stays empty. Symbols take
/// milliseconds, one thread at a time: only who runs on findings_stack() gets them, and not a
/// thread that is careful as if interrupted (shim/base/reserve.h). Others get modules and
/// offsets.
std::vector<Frame> symbolize(std::span<const std::uintptr_t> addresses);
/// With the Python functions where the interpreter ran them.
std::vector<Frame> symbolize(StackId stack);

/// In a child of fork that was made while another thread was in symbolize(): from here on modules
/// and offsets only.
void symbolizer_was_interrupted() noexcept;

}  // namespace cuvmm::shim
