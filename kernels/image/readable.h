// SPDX-License-Identifier: Apache-2.0
// How far memory can be read whose end the program did not give.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuvmm::kernels {

/// Whether this process can read [at, at + size). The kernel reads a byte of each page, which loads
/// pages of files: call this only for memory that is read anyway.
bool is_readable(const char* at, std::uint64_t size);

/// The length of a text as strlen() gives it, but never past readable memory.
std::size_t readable_length(const char* text);

}  // namespace cuvmm::kernels
