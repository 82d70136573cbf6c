// SPDX-License-Identifier: Apache-2.0
// Whether an address is memory of the host.
#pragma once

#include <cstdint>

namespace cuvmm::shim {

/// Whether this process can read the byte. False if nobody can tell, because the kernel forbids the
/// question.
bool host_can_read(std::uint64_t address);

}  // namespace cuvmm::shim
