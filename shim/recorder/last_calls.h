// SPDX-License-Identifier: Apache-2.0
// The file with this process's last calls, which outlives the process, if CUVMM_RING names a
// folder.
#pragma once

#include <atomic>
#include <string>

#include "recorder/new_file.h"
#include "shim/settings/options.h"

namespace cuvmm::shim {

/// Gives g_last_calls its image, and knows whether g_last_calls has one
/// (shim/recorder/recorded_call.h).
class LastCalls {
 public:
  /// Whether open() has not run yet.
  bool unopened() const noexcept { return unopened_.load(std::memory_order_relaxed); }
  /// Makes the file, or sees that the options want none. `driver` is the path of the libcuda.
  void open(const Options& options, const std::string& driver) noexcept;
  /// The process ends by itself: removes the file, unless `keep` is set or the file has a fault.
  void finish(bool keep) noexcept;
  /// Called in a child of fork: the parent goes on to write its file.
  void restart_in_child() noexcept;

  /// The file's path; "" if there is no file.
  const std::string& path() const { return path_; }
  /// Why a wanted file could not be made; 0 if it was made, or if none was wanted.
  int error() const { return error_; }

 private:
  recorder::NewFile file_;
  std::atomic<bool> unopened_{true};
  int error_ = 0;
  std::string path_;
};

}  // namespace cuvmm::shim
