// SPDX-License-Identifier: Apache-2.0
// Findings and summaries as text for people.
#pragma once

#include <string>

#include "frames/stack_text.h"
#include "shim/findings/ledger.h"

namespace cuvmm::shim {

/// A finding in full, several lines, ends in a newline. `again`: without the parts that an earlier
/// finding of this rule has printed (the rule, the fix).
std::string finding_text(const Entry& entry, bool again = false);

/// The facts about a process for its last lines.
struct SummaryFacts {
  std::uint64_t calls = 0;
  std::string in_use = {};  ///< the objects that the process has not given back, as a sentence; ""
                            ///< if there are none
};
/// Each advice rule whose calls were refused, if no other call gave the program what it wanted: a
/// line, the makers of the objects, and the fix. "" if there is none.
std::string advice_text(const Ledger& ledger);
/// A line for each finding that was made more than once; "" if there is none.
std::string repeats_text(const Ledger& ledger);
/// Totals, and the objects that are alive; ends in a newline.
std::string summary_text(const Ledger& ledger, const SummaryFacts& facts);

}  // namespace cuvmm::shim
