// SPDX-License-Identifier: Apache-2.0
// One process that shows what it holds: found by its pid, its stacks made readable.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "live/reader.h"

namespace cuvmm::tools {

/// The view of this pid. Throws UsageError with what is there instead.
live::View view_of(int pid, const std::string& folder);

/// The processes of the tree that starts at `root`, itself too.
std::vector<live::View> tree_of(int root, std::vector<live::View> views);

/// The stacks of a process that lives.
class LiveStacks {
 public:
  explicit LiveStacks(const live::View& view);
  /// A line per frame, indented; "" where there is no stack.
  std::string text(std::uint32_t id, const std::string& indent);

 private:
  const live::View& view_;
  std::string maps_;
  std::map<std::uint32_t, std::vector<std::string>> known_;
};

}  // namespace cuvmm::tools
