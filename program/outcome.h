// SPDX-License-Identifier: Apache-2.0
// The answer of a statement.
#pragma once

#include <cuda.h>

#include <string>

namespace cuvmm::program {

struct Outcome {
  enum class Status {
    kNotRun,   ///< `detail` says why: a name without a value, or a process that has ended
    kDone,     ///< `result` is the call's answer
    kSignal,   ///< the process died in the call; `detail` is "SIGSEGV"
    kExited,   ///< the process ended by itself in the call; `detail` is the exit code
    kTimeout,  ///< no answer in time; the process was killed
  };
  Status status = Status::kNotRun;
  CUresult result = CUDA_SUCCESS;
  std::string value;   ///< a value that is equal on all machines; "" for none
  std::string detail;  ///< see status

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// "CUDA_SUCCESS =3", "signal:SIGSEGV", "exit:1", "timeout", "not-run: REASON".
std::string outcome_text(const Outcome& outcome);
/// The outcome that a text stands for. A text that is no outcome becomes a kNotRun with the text.
Outcome parse_outcome(const std::string& text);
/// The outcome for the end of a process, from the status of waitpid().
Outcome outcome_of_end(int wait_status);

}  // namespace cuvmm::program
