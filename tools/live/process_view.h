// SPDX-License-Identifier: Apache-2.0
// One process that shows what it holds: found by its pid, its stacks made readable.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "live/frames/frame.h"
#include "live/reader.h"

namespace cuvmm::tools {

/// The view of this pid. Throws UsageError with what is there instead.
live::View view_of(int pid, const std::string& folder);

/// What of this process cannot be known, as the kernel lets us not look into it: of another group,
/// as by `podman exec`, or with more capabilities. In words, with what to do; "" where it lets us.
std::string closed_to_us(int pid);

/// The processes of the tree that starts at `root`, itself too.
std::vector<live::View> tree_of(int root, std::vector<live::View> views);

/// The stacks of a process that lives.
class LiveStacks {
 public:
  explicit LiveStacks(const live::View& view);
  /// A line per frame, indented; "" where there is no stack. Where functions of Python are known,
  /// the interpreter's own frames are left out.
  std::string text(std::uint32_t id, const std::string& indent);
  /// All of them.
  std::vector<std::string> lines(std::uint32_t id);

 private:
  const std::vector<live::Frame>& frames(std::uint32_t id);

  const live::View& view_;
  std::string maps_;
  std::map<std::uint32_t, std::vector<live::Frame>> known_;
};

}  // namespace cuvmm::tools
