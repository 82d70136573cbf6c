// Findings and summaries as text for people.
#pragma once

#include <string>

#include "shim/ledger.h"

namespace cuvmm::shim {

/// A finding in full, several lines, ends in a newline.
std::string finding_text(const Entry& entry);

/// What a process did, for its last lines.
struct SummaryFacts {
  std::uint64_t calls = 0;
  std::uint64_t alive_allocations = 0, alive_bytes = 0, alive_reservations = 0;
};
/// A line for each finding that was made more than once; "" when none was.
std::string repeats_text(const Ledger& ledger);
/// Totals and what is alive; ends in a newline.
std::string summary_text(const Ledger& ledger, const SummaryFacts& facts);

/// "#0 fill() at cache.cc:41 (app+0x1234)", one line per frame, indented.
std::string stack_text(const std::vector<Frame>& frames, const char* indent);

}  // namespace cuvmm::shim
