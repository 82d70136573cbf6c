// SPDX-License-Identifier: Apache-2.0
// A library linked to a libcudart of its own, as Python's extensions are. Compiled with -O2, so
// that tail calls become jumps.
#include "shim/testing/runtime_twins.h"

#pragma GCC visibility push(default)

/// The runtime's function returns to this function.
extern "C" int plugin_runtime() { return -cudaIpcCloseMemHandle(nullptr); }

/// A jump: the runtime's function returns to this function's caller.
extern "C" int plugin_runtime_by_jump() { return cudaIpcCloseMemHandle(nullptr); }
