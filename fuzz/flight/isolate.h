// SPDX-License-Identifier: Apache-2.0
// Runs programs in processes of their own, each with an emulator that has not done anything yet: so
// a program and a seed mean one course of events, and a crash is a finding.
#pragma once

#include <string>

#include "fuzz/flight/machine.h"

namespace cuvmm::fuzz::flight {

/// What programs are run on. The driver is loaded, and used in children only.
struct Target {
  std::string path;
  LoadedDriver driver;
  bool quiet = false;  ///< what programs write to stderr is not shown
};
Target open_target(const std::string& path);

/// `streams` is what CUVMM_STREAMS is set to. A program that cannot be read, and a child that dies,
/// are problems as well.
Result run_alone(const Target& target, const std::string& text, const std::string& streams);

/// The program with what each call answered, and what was found.
std::string annotated(const std::string& text, const Result& result);

}  // namespace cuvmm::fuzz::flight
