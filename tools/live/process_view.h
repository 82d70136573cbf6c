// SPDX-License-Identifier: Apache-2.0
// One process that shows what it holds: found by its pid, its stacks made readable.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "frames/frame.h"
#include "recorder/holdings/reader.h"

namespace cuvmm::tools {

/// The view of this pid. Throws UsageError with what is there instead.
holdings::View view_of(int pid, const std::string& folder);

/// What of this process cannot be known, as the kernel lets us not look into it: of another group,
/// as by `podman exec`, or with more capabilities. In words, with what to do; "" where it lets us.
std::string closed_to_us(int pid);

/// The processes of the tree that starts at `root`, itself too.
std::vector<holdings::View> tree_of(int root, std::vector<holdings::View> views);

/// The stacks of a process that lives.
class LiveStacks {
 public:
  explicit LiveStacks(const holdings::View& view);
  /// A line per frame, indented; "" where there is no stack. Where functions of Python are known,
  /// the interpreter's own frames are left out.
  std::string text(std::uint32_t id, const std::string& indent);
  /// All of them.
  std::vector<std::string> lines(std::uint32_t id);

 private:
  const std::vector<frames::Frame>& frames(std::uint32_t id);

  const holdings::View& view_;
  std::string maps_;
  std::map<std::uint32_t, std::vector<frames::Frame>> known_;
};

}  // namespace cuvmm::tools
