// SPDX-License-Identifier: Apache-2.0
// A library linked to a libcudart of its own, as Python's extensions are. Compiled with -O2: the
// calls in the last place become jumps.
#include "shim/testing/runtime_twins.h"

#pragma GCC visibility push(default)

/// The runtime's function returns to here.
extern "C" int plugin_runtime() { return -cudaIpcCloseMemHandle(nullptr); }

/// The runtime's function returns to whoever called this one.
extern "C" int plugin_runtime_by_jump() { return cudaIpcCloseMemHandle(nullptr); }
