// SPDX-License-Identifier: Apache-2.0
// The file that outlives this process with its last calls, where CUVMM_RING names a folder.
#pragma once

#include <atomic>
#include <string>

#include "recorder/new_file.h"
#include "shim/settings/options.h"

namespace cuvmm::shim {

/// Gives g_ring its image, and says whether it has one (shim/recorder/ring_call.h).
class LastCalls {
 public:
  /// Whether nobody has looked yet for where they are to be kept.
  bool unopened() const noexcept { return unopened_.load(std::memory_order_relaxed); }
  /// Makes the file, or sees that none is to be kept. `driver` is the path of the libcuda.
  void open(const Options& options, const std::string& driver) noexcept;
  /// The process ends by itself: the file goes, unless it is to be kept or tells of a fault.
  void finish(bool keep) noexcept;
  /// In a child of fork: the parent's file stays the parent's.
  void restart_in_child() noexcept;

  /// Of the file; "" where there is none.
  const std::string& path() const { return path_; }
  /// Why there is no file though one was asked for; 0: there is, or none was.
  int error() const { return error_; }

 private:
  recorder::NewFile file_;
  std::atomic<bool> unopened_{true};
  int error_ = 0;
  std::string path_;
};

}  // namespace cuvmm::shim
