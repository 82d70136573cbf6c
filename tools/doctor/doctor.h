// SPDX-License-Identifier: Apache-2.0
// What this machine, container and user can do with the driver's memory APIs, and why not.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "tools/doctor/check.h"
#include "tools/doctor/host/host.h"

namespace cuvmm::doctor {

struct DoctorOptions {
  std::string driver = "libcuda.so.1";     ///< a path, or a name for the loader
  std::string nvml = "libnvidia-ml.so.1";  ///< the same
  Host host;                               ///< another root stands for a machine in tests
  std::chrono::milliseconds limit{10000};  ///< for each child that asks the driver
};

/// `driver`, or where it is "" the one that CUVMM_DRIVER names, or the loader's choice.
std::string chosen_driver(const std::string& driver);
/// The NVML beside a driver that was named by its path is its own; else the loader finds one.
std::string nvml_beside(const std::string& driver);

/// All checks, in the order of check_table(). Forks: the caller has one thread and has started no
/// driver. Each question that a driver might crash or hang on is asked in a process of its own.
std::vector<Check> diagnose(const DoctorOptions& options);

}  // namespace cuvmm::doctor
