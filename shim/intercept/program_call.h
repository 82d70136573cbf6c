// SPDX-License-Identifier: Apache-2.0
// The program's own calls of libc about descriptors that are in the model.
#pragma once

#include "shim/base/thread_state.h"
#include "shim/process/process.h"

namespace cuvmm::shim {

/// The process that follows such a call, or null for three kinds of calls: the shim's own files get
/// numbers that the driver has closed, a child of vfork shares this memory, and a signal handler
/// may have interrupted the shim.
Process* hears_of(const Caller& caller) noexcept;

}  // namespace cuvmm::shim
