// SPDX-License-Identifier: Apache-2.0
// Whether this process has free descriptors, for calls that make one.
#pragma once

#include <cstdint>
#include <string>

#include "shim/history/process_history.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

struct DescriptorFacts {
  std::uint64_t open = 0, limit = 0;  ///< limit 0: not known
  std::uint64_t dma_bufs = 0;         ///< of cuMemGetHandleForAddressRange
  std::uint64_t exports = 0;          ///< of cuMemExportToShareableHandle
  StackId most = 0;                   ///< of the call that made most of these two
  std::uint64_t of_most = 0;

  /// Also true if nearly all are used, because a driver may need more than one for a call.
  bool used_up() const { return limit != 0 && open + 2 >= limit; }
  std::string text() const;
};

/// Counts the open descriptors; needs none itself. Leaves the facts empty if the limit is so high
/// that counting would take long.
DescriptorFacts count_descriptors();
/// Adds the calls that made the descriptors. Needs the session's lock.
void add_makers(const ProcessHistory& history, DescriptorFacts& facts);

}  // namespace cuvmm::shim
