// SPDX-License-Identifier: Apache-2.0
// Which files the processes of this user have open, as the kernel tells it.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace cuvmm::tools {

/// What a descriptor of a process stands for, as the kernel names it; "" where it is not open, or
/// nobody may look.
std::string link_of(int pid, int fd);
/// The open descriptors of a process, at most `most`.
std::vector<int> open_descriptors(int pid, std::size_t most);
/// All processes of this user, also those that make no call of CUDA.
std::vector<int> processes_of_user();

/// A process that has files of the driver open, and shows nothing of what it holds.
struct DeviceFiles {
  int pid = 0;
  std::string program;
  std::size_t count = 0;
};
/// Of the processes of this user those that are not in `shown`: a worker that was forked after the
/// driver had started keeps what it inherited, and with it memory of a process that is gone.
/// `prefix`: how the names of the driver's files begin.
std::vector<DeviceFiles> device_file_keepers(const std::set<int>& shown,
                                             const std::string& prefix = "/dev/nvidia");
std::string device_files_text(const std::vector<DeviceFiles>& keepers);

}  // namespace cuvmm::tools
