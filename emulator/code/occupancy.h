// SPDX-License-Identifier: Apache-2.0
// How many blocks of a kernel a multiprocessor of the emulated GPU holds.
#pragma once

#include "emulator/objects/modules.h"

namespace cuvmm::emulator {

/// The dynamic shared memory that a block of the kernel may have, in bytes: as set, else the
/// default. It may be negative where the static shared memory takes more than the default.
int dynamic_shared_limit(const kernels::KernelCode& code, const Settings& settings);
/// The blocks of `threads` threads that a multiprocessor holds at a time.
int active_blocks(const kernels::KernelCode& code, const Settings& settings, int threads,
                  std::size_t dynamic_shared);
/// The registers of a thread, assumed where the image does not give the number.
int registers_of(const kernels::KernelCode& code);
/// The threads that a block of the kernel may have.
int thread_limit(const kernels::KernelCode& code);
/// The blocks that a cluster of the kernel may have.
unsigned cluster_limit(const Settings& settings);

}  // namespace cuvmm::emulator
