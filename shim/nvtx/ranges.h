// SPDX-License-Identifier: Apache-2.0
// The NVTX ranges that a thread is in: those that it pushed, and those that somebody started and
// nobody ended. To push costs a copy of the name; what is open becomes a number when a stack is
// captured there.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::shim::nvtx {

/// A list of open ranges; 0: none. Equal numbers are equal names, for the life of the process.
using RangesId = std::uint32_t;

/// What the program calls a domain that it made: up to 200 bytes are kept. `name` "": none.
void name_domain(const void* domain, std::string_view name);
/// `name`, with the domain's before it where it is not the default one: "app: load". Domain null:
/// the default one.
std::string in_domain(const void* domain, std::string_view name);

/// The level of the range, 0 for the first of its thread. Names are kept up to 200 bytes, and of
/// the first 64 levels.
int push_range(const void* domain, std::string_view name) noexcept;
/// Ends the last one of this domain. Its level; -1 if there is none.
int pop_range(const void* domain) noexcept;
/// A range of the process, which any thread may end by this number.
std::uint64_t start_range(const void* domain, std::string_view name) noexcept;
/// The same, under a number that another tool gave it.
void start_range_as(std::uint64_t id, const void* domain, std::string_view name) noexcept;
void end_range(std::uint64_t id) noexcept;

namespace detail {
inline constinit std::atomic<bool> g_used{false};
RangesId open_ranges_now() noexcept;
}  // namespace detail

/// Those that the calling thread is in. 0 also where there is no room for one more list.
inline RangesId open_ranges() noexcept {
  return detail::g_used.load(std::memory_order_relaxed) ? detail::open_ranges_now() : 0;
}

struct RangeName {
  std::string domain;  ///< "" of the default one
  std::string name;

  /// "load", "app: load".
  std::string text() const;
};

/// Their names, outermost first.
std::vector<RangeName> range_names(RangesId id);
/// The same as text.
std::vector<std::string> range_texts(RangesId id);

/// Around fork, so that the child finds them whole; as OwnedMutex::lock_for_fork().
bool lock_ranges() noexcept;
void unlock_ranges() noexcept;

}  // namespace cuvmm::shim::nvtx
