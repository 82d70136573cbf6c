// SPDX-License-Identifier: Apache-2.0
// Whose finding it is: the code outside of libraries that is nearest to the call.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/base/json.h"
#include "frames/frame.h"
#include "tools/report/blame/own_code.h"

namespace cuvmm::tools {

struct Blamed {
  std::size_t frame;  ///< which of the stack's
  bool library;       ///< no frame is outside of libraries: it is the outermost library's
};

/// Which frame of a stack, innermost first, is to blame. Nothing if that is not known: there is no
/// stack, or frames are missing that might be it. What is the user's own is no library's.
std::optional<Blamed> blame(const std::vector<frames::Frame>& frames, const OwnCode& own);

/// What --blame made of a report's errors, undefined behaviour and leaks, repeats included.
struct BlameTally {
  std::uint64_t counted = 0;
  std::uint64_t left_out = 0;
  std::map<std::string, std::uint64_t> by_code;  ///< those left out, by the name of whose they are
};

/// Adds "blamed" to each finding of a merged report, and, where `own` names code, "blame" to the
/// report. Without such code every finding counts, and one whose blame is not known always does.
BlameTally blame_findings(Json& report, const OwnCode& own);

/// The line of the summary about findings that do not count; "" for none.
std::string blame_text(const BlameTally& tally, const OwnCode& own);

}  // namespace cuvmm::tools
