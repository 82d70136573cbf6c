// SPDX-License-Identifier: Apache-2.0
// Asks the kernel which files the processes of this user have open.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace cuvmm::tools {

/// The target of a process's descriptor, as the kernel names it; "" where the descriptor is not
/// open, or this process may not look.
std::string link_of(int pid, int fd);
/// The open descriptors of a process, at most `most`.
std::vector<int> open_descriptors(int pid, std::size_t most);
/// All processes of this user, also processes that do not use CUDA.
std::vector<int> processes_of_user();

/// A process that has files of the driver open, but shows no objects.
struct DeviceFiles {
  int pid = 0;
  std::string program;
  std::size_t count = 0;
};
/// The processes of this user that have files of the driver open and are not in `shown`. A worker
/// that was forked after the driver had started keeps the inherited files, and with them memory of
/// an ended process. `prefix` is how the names of the driver's files begin.
std::vector<DeviceFiles> device_file_keepers(const std::set<int>& shown,
                                             const std::string& prefix = "/dev/nvidia");
std::string device_files_text(const std::vector<DeviceFiles>& keepers);

}  // namespace cuvmm::tools
