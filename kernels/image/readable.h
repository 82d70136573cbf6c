// SPDX-License-Identifier: Apache-2.0
// How far memory can be read of which the program did not say where it ends.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuvmm::kernels {

/// Whether this process can read [at, at + size). The kernel is asked for a byte of each page,
/// which brings pages of files in: ask about what is read anyway.
bool is_readable(const char* at, std::uint64_t size);

/// As strlen(), but never past what can be read.
std::size_t readable_length(const char* text);

}  // namespace cuvmm::kernels
