// SPDX-License-Identifier: Apache-2.0
// Finds the code that is to blame for a finding: the code outside of libraries that is nearest to
// the call.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frames/frame.h"
#include "tools/base/json.h"
#include "tools/report/blame/own_code.h"

namespace cuvmm::tools {

struct Blamed {
  std::size_t frame;  ///< index in the stack
  bool library;       ///< all frames are in libraries; `frame` is in the outermost one
};

/// The frame of a stack, innermost first, that is to blame. Nothing if nobody can tell: the stack
/// is empty, or lacks frames that might be to blame. Code in `own` counts as outside of libraries.
std::optional<Blamed> blame(const std::vector<frames::Frame>& frames, const OwnCode& own);

/// The numbers of errors, undefined behaviour and leaks that count under --blame, repeats included.
struct BlameTally {
  std::uint64_t counted = 0;
  std::uint64_t left_out = 0;
  std::map<std::string, std::uint64_t> by_code;  ///< `left_out`, by name of the code to blame
};

/// Adds "blamed" to each finding of a merged report. If `own` is not empty, also adds "blame" to
/// the report, and counts only findings that own code is to blame for, or whose blame is unknown.
BlameTally blame_findings(Json& report, const OwnCode& own);

/// The line of the summary about findings that do not count; "" for none.
std::string blame_text(const BlameTally& tally, const OwnCode& own);

}  // namespace cuvmm::tools
