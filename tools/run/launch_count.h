// SPDX-License-Identifier: Apache-2.0
// The launches that the emulator skipped in the processes of a run, the files that hold a CUDA
// runtime of NVIDIA's, and the functions that the emulator lacks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/base/temporary_folder.h"

namespace cuvmm::tools {

/// A file that the processes under the emulator write. Its first eight bytes are a counter, which
/// the processes map, so that no way to end a process loses a count. Lines follow it.
class LaunchCount {
 public:
  LaunchCount();
  /// The value of CUVMM_LAUNCH_COUNT; "" if the file could not be made: then nobody counts skipped
  /// launches.
  const std::string& path() const { return path_; }
  std::uint64_t read() const;
  /// The files that need a real driver, because a CUDA runtime of NVIDIA's is in them; each once.
  std::vector<std::string> need_driver() const;
  /// The functions that programs called and the emulator lacks; each once.
  std::vector<std::string> not_emulated() const;
  /// The kernels that ran under --kernels=check; each once.
  std::vector<std::string> checked_kernels() const;

 private:
  /// The lines of a kind; `mark` is the first character of its lines, 0 for those without a mark.
  std::vector<std::string> lines(char mark) const;

  TemporaryFolder folder_;
  std::string path_;
};

}  // namespace cuvmm::tools
