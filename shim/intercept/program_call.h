// SPDX-License-Identifier: Apache-2.0
// The program's own calls of libc about descriptors that the model knows something of.
#pragma once

#include "shim/base/thread_state.h"
#include "shim/process/process.h"

namespace cuvmm::shim {

/// The process that is to hear of such a call, or null: our own files get numbers that the driver
/// let go of, a child of vfork shares this memory, and a signal handler may have interrupted us.
Process* hears_of(const Caller& caller) noexcept;

}  // namespace cuvmm::shim
