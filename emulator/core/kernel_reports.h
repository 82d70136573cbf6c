// SPDX-License-Identifier: Apache-2.0
// The mistakes of kernels that the shim has yet to take (api/kernel_report.h).
#pragma once

#include <cstdint>

#include "api/kernel_report.h"

namespace cuvmm::emulator {

/// A number for a launch that the calling thread makes.
std::uint64_t begin_launch() noexcept;
/// Keeps a report until the shim takes it; the oldest are kept if nobody does.
void keep_report(const KernelReport& report);

}  // namespace cuvmm::emulator
