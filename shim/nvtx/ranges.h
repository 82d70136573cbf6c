// SPDX-License-Identifier: Apache-2.0
// The NVTX ranges that a thread is in: those that it pushed, and those that any thread started and
// no thread has ended. A push costs a copy of the name; the open ranges become a number when a
// stack is captured inside of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::shim::nvtx {

/// A list of open ranges; 0: none. Equal numbers mean equal names, as long as the process lives.
using RangesId = std::uint32_t;

/// Notes the program's name for a domain that it made: up to 200 bytes are stored. `name` "": the
/// domain has no name.
void name_domain(const void* domain, std::string_view name);
/// `name`, after the domain's name unless that is the default domain: "app: load". Domain null: the
/// default domain.
std::string in_domain(const void* domain, std::string_view name);

/// Returns the level of the range, 0 for the first of its thread. Names are stored up to 200 bytes,
/// and for the first 64 levels.
int push_range(const void* domain, std::string_view name) noexcept;
/// Ends the last range of this domain. Returns its level; -1 if the domain has none.
int pop_range(const void* domain) noexcept;
/// A range of the process, which any thread may end by this number.
std::uint64_t start_range(const void* domain, std::string_view name) noexcept;
/// start_range() with a number that another tool gave the range.
void start_range_as(std::uint64_t id, const void* domain, std::string_view name) noexcept;
void end_range(std::uint64_t id) noexcept;

namespace detail {
inline constinit std::atomic<bool> g_used{false};
RangesId open_ranges_now() noexcept;
}  // namespace detail

/// The ranges that the calling thread is in; 0 also if no further list can be stored.
inline RangesId open_ranges() noexcept {
  return detail::g_used.load(std::memory_order_relaxed) ? detail::open_ranges_now() : 0;
}

struct RangeName {
  std::string domain;  ///< "" for the default domain
  std::string name;

  /// "load", "app: load".
  std::string text() const;
};

/// The names of the ranges, outermost first.
std::vector<RangeName> range_names(RangesId id);
/// range_names() as texts.
std::vector<std::string> range_texts(RangesId id);

/// Called around fork, so that the child finds the tables whole; as OwnedMutex::lock_for_fork().
bool lock_ranges() noexcept;
void unlock_ranges() noexcept;

}  // namespace cuvmm::shim::nvtx
