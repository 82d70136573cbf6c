// SPDX-License-Identifier: Apache-2.0
// Says which of the driver's memory APIs this user can use on this machine and in this container,
// and why the others do not work.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "tools/doctor/check.h"
#include "tools/doctor/host/host.h"

namespace cuvmm::doctor {

struct DoctorOptions {
  std::string driver = "libcuda.so.1";     ///< a path, or a name for the loader
  std::string nvml = "libnvidia-ml.so.1";  ///< a path, or a name for the loader
  Host host;                               ///< another root stands for a machine in tests
  std::chrono::milliseconds limit{10000};  ///< for each child that asks the driver
};

/// `driver`. If that is "": the driver that CUVMM_DRIVER names; without that, the loader's choice.
std::string chosen_driver(const std::string& driver);
/// The path of the NVML in the folder of `driver`, because the two belong together. If `driver` is
/// no path, or its folder has no NVML: a name for the loader.
std::string nvml_beside(const std::string& driver);

/// All checks, in the order of check_table(). The caller must have only one thread and no started
/// driver, because the function forks: each question on which a driver might crash or hang gets a
/// process of its own.
std::vector<Check> diagnose(const DoctorOptions& options);

}  // namespace cuvmm::doctor
