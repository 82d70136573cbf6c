// SPDX-License-Identifier: Apache-2.0
// How programs are run in processes of their own.
#pragma once

#include <chrono>
#include <vector>

namespace cuvmm::program {

struct RunOptions {
  /// For one statement to answer; then its process is killed.
  std::chrono::milliseconds timeout{20000};
  /// True: the processes end by exit(), so that a preloaded library writes its report. False: by
  /// _exit(), which suits a caller with handlers of its own, such as a test.
  bool normal_exit = false;
  /// Where the ids of the processes are appended, for who matches reports with runs; may be null.
  std::vector<int>* process_ids = nullptr;
};

}  // namespace cuvmm::program
