// SPDX-License-Identifier: Apache-2.0
// What a statement answered.
#pragma once

#include <cuda.h>

#include <string>

namespace cuvmm::program {

struct Outcome {
  enum class Status {
    kNotRun,   ///< detail says why: a name without a value, a process that is gone
    kDone,     ///< result is what the call answered
    kSignal,   ///< the process died in it; detail is "SIGSEGV"
    kExited,   ///< the process ended by itself in it; detail is the exit code
    kTimeout,  ///< no answer in time; the process was killed
  };
  Status status = Status::kNotRun;
  CUresult result = CUDA_SUCCESS;
  std::string value;   ///< what can be compared between machines; "" for none
  std::string detail;  ///< see status

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// "CUDA_SUCCESS =3", "signal:SIGSEGV", "exit:1", "timeout", "not-run: REASON".
std::string outcome_text(const Outcome& outcome);
/// The outcome that a text stands for; for one that is no outcome a kNotRun that holds it.
Outcome parse_outcome(const std::string& text);
/// How a process ended, from the status that waitpid() gave.
Outcome outcome_of_end(int wait_status);

}  // namespace cuvmm::program
