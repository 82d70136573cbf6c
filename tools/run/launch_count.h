// SPDX-License-Identifier: Apache-2.0
// How many kernels the processes of a run launched on the emulator, which runs none.
#pragma once

#include <cstdint>
#include <string>

#include "tools/temporary_folder.h"

namespace cuvmm::tools {

/// A file of eight bytes that the emulator's processes map and add to, whatever ends them.
class LaunchCount {
 public:
  LaunchCount();
  /// Of CUVMM_LAUNCH_COUNT; "" when there is none: launches are then skipped uncounted.
  const std::string& path() const { return path_; }
  std::uint64_t read() const;

 private:
  TemporaryFolder folder_;
  std::string path_;
};

}  // namespace cuvmm::tools
