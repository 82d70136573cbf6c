// SPDX-License-Identifier: Apache-2.0
// Where the last calls of this process are kept: in a file that outlives it where CUVMM_RING names
// a folder, else in memory, for the text about a fault of the device.
#pragma once

#include <atomic>
#include <string>

#include "ring/format.h"
#include "shim/process/options.h"

namespace cuvmm::shim {

/// Gives g_ring (shim/intercept/ring_call.h) its image.
class LastCalls {
 public:
  /// Whether they are to be kept, and nowhere yet: before the first call of a process, and of a
  /// child of fork.
  bool wanted() const noexcept { return wanted_.load(std::memory_order_relaxed); }
  /// Takes a file or memory. `driver` is the path of the libcuda.
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
  ring::Image* image_ = nullptr;
  std::atomic<bool> wanted_{true};
  int error_ = 0;
  std::string path_;
};

}  // namespace cuvmm::shim
