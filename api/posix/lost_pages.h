// SPDX-License-Identifier: Apache-2.0
// Mapped files that another process may shorten. An access behind the new end of the file would end
// this process by SIGBUS.
#pragma once

#include <cstddef>

namespace cuvmm {

/// replace_lost_pages() knows this mapping from here on, until forget_pages(). It knows at most 64
/// mappings at a time. Async-signal-safe, as all functions here.
void guard_pages(const void* begin, std::size_t bytes) noexcept;
void forget_pages(const void* begin) noexcept;
/// For a handler of SIGBUS. If `address` is in such a mapping, it puts memory with zeroes in place
/// of the lost pages and returns true: the handler returns, and the program goes on.
bool replace_lost_pages(const void* address) noexcept;
/// Whether replace_lost_pages() replaced a part of this mapping.
bool lost_pages(const void* begin) noexcept;
/// For a command: sets a handler for SIGBUS that replaces lost pages, unless there is another
/// handler.
void survive_lost_pages() noexcept;

}  // namespace cuvmm
