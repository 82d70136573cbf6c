// SPDX-License-Identifier: Apache-2.0
// Options for programs that run in processes of their own.
#pragma once

#include <chrono>
#include <vector>

namespace cuvmm::program {

struct RunOptions {
  /// The time for one statement to answer; after that its process is killed.
  std::chrono::milliseconds timeout{20000};
  /// True: the processes end by exit(), so that a preloaded library writes its report. False: by
  /// _exit(), which suits a caller that has exit handlers of its own, such as a test.
  bool normal_exit = false;
  /// The ids of the processes are appended here, for a caller that matches reports with runs; may
  /// be null.
  std::vector<int>* process_ids = nullptr;
};

}  // namespace cuvmm::program
