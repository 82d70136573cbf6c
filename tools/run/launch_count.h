// SPDX-License-Identifier: Apache-2.0
// What the emulator did not do for the processes of a run: kernels, and runtimes in their files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/base/temporary_folder.h"

namespace cuvmm::tools {

/// A file that the emulator's processes write, whatever ends them: eight bytes that they map and
/// add to, and lines behind them.
class LaunchCount {
 public:
  LaunchCount();
  /// Of CUVMM_LAUNCH_COUNT; "" when there is none: launches are then skipped uncounted.
  const std::string& path() const { return path_; }
  std::uint64_t read() const;
  /// The files that need a real driver, because a CUDA runtime of NVIDIA's is in them; each once.
  std::vector<std::string> need_driver() const;

 private:
  TemporaryFolder folder_;
  std::string path_;
};

}  // namespace cuvmm::tools
