// SPDX-License-Identifier: Apache-2.0
// Runs each program in a process of its own, with a fresh emulator. So a program and a seed
// determine one course of events, and a crash is a finding.
#pragma once

#include <string>

#include "fuzz/flight/machine.h"

namespace cuvmm::fuzz::flight {

/// The driver that programs are run on. Only children use it.
struct Target {
  std::string path;
  LoadedDriver driver;
  bool quiet = false;  ///< hides what programs write to stderr
};
Target open_target(const std::string& path);

/// `streams` is the value of CUVMM_STREAMS. A program that cannot be read, and a child that dies,
/// are problems as well.
Result run_alone(const Target& target, const std::string& text, const std::string& streams);

/// The program with the answer to each call, and the shim's findings.
std::string annotated(const std::string& text, const Result& result);

}  // namespace cuvmm::fuzz::flight
