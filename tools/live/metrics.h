// SPDX-License-Identifier: Apache-2.0
// The memory of living processes as numbers for a dashboard.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "recorder/holdings/reader.h"
#include "tools/live/process_view.h"

namespace cuvmm::tools {

/// Writes the numbers of one moment. Remembers which code each stack names, because the symbols of
/// a process are slow to read.
class LiveMetrics {
 public:
  /// OpenMetrics text, with at most kMostProcesses processes and kMostCreators creators of a
  /// program; "other" stands for the sum of the rest. docs/live.md lists the families.
  std::string text(const std::vector<holdings::View>& views);

  static constexpr std::size_t kMostProcesses = 256, kMostCreators = 32;

 private:
  /// "torch", "libnccl.so.2", "train.py": the code that is to blame for the stack. `stacks` is made
  /// for the view where a stack is new.
  const std::string& creator(const holdings::View& view, std::uint32_t stack,
                             std::optional<LiveStacks>& stacks);

  std::map<std::string, std::map<std::uint32_t, std::string>> creators_;  ///< by the view's file
};

}  // namespace cuvmm::tools
