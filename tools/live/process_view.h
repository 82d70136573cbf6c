// SPDX-License-Identifier: Apache-2.0
// Finds the process with a pid that shows its objects, and makes its stacks readable.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "frames/frame.h"
#include "recorder/holdings/reader.h"

namespace cuvmm::tools {

/// The view of this pid. Throws UsageError, which says why the process shows nothing.
holdings::View view_of(int pid, const std::string& folder);

/// Says in words which facts about this process the kernel hides from us, and how to get them; ""
/// where it hides none. The kernel hides a process of another group, as by `podman exec`, or with
/// more capabilities.
std::string closed_to_us(int pid);

/// The processes of the tree that starts at `root`, with `root` itself.
std::vector<holdings::View> tree_of(int root, std::vector<holdings::View> views);

/// The stacks of a living process.
class LiveStacks {
 public:
  explicit LiveStacks(const holdings::View& view);
  /// One line per frame, indented; "" where the stack is unknown. Where Python functions are known,
  /// they replace the interpreter's own frames.
  std::string text(std::uint32_t id, const std::string& indent);
  /// The function and line that show best where the program made a call, as frames::place_text();
  /// "" where the stack is unknown.
  std::string place(std::uint32_t id);
  /// One text per frame, with all frames.
  std::vector<std::string> lines(std::uint32_t id);
  /// The frames, innermost first.
  const std::vector<frames::Frame>& frames(std::uint32_t id);

 private:
  const holdings::View& view_;
  std::string maps_;
  std::map<std::uint32_t, std::vector<frames::Frame>> known_;
};

}  // namespace cuvmm::tools
