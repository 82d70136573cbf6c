// SPDX-License-Identifier: Apache-2.0
// Memory that is a file which somebody else may cut: what is touched behind the cut would end the
// process by SIGBUS.
#pragma once

#include <cstddef>

namespace cuvmm {

/// From here on, until forget_pages(), replace_lost_pages() knows this mapping. Of more than 64 at
/// a time the others are not known. Async-signal-safe, as all of these.
void guard_pages(const void* begin, std::size_t bytes) noexcept;
void forget_pages(const void* begin) noexcept;
/// For a handler of SIGBUS. Where `address` is in such a mapping, memory of our own takes the place
/// of what is lost, all 0, and true: the handler returns, and the program goes on.
bool replace_lost_pages(const void* address) noexcept;
/// Whether a part of this mapping was replaced.
bool lost_pages(const void* begin) noexcept;
/// For a command: has a handler for SIGBUS that does it, unless there is another one.
void survive_lost_pages() noexcept;

}  // namespace cuvmm
