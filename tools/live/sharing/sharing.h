// SPDX-License-Identifier: Apache-2.0
// Finds memory that several processes hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recorder/holdings/reader.h"

namespace cuvmm::tools {

/// Memory that more than one process holds.
struct SharedMemory {
  struct Holder {
    int pid = 0;
    std::string how;  ///< "descriptor 12", "import 0x7f..", "IPC memory 0x7f.."
  };
  std::uint64_t size = 0;  ///< bytes; 0 unknown
  std::vector<Holder> holders;
};

/// Compares the machine-wide names of memory, and asks the kernel whether two open descriptors mean
/// one file (kcmp). So processes of this user that show no objects are found, too. An import of a
/// driver's device file whose descriptor is closed cannot be matched.
std::vector<SharedMemory> shared_memory(const std::vector<holdings::View>& views);

std::string sharing_text(const std::vector<SharedMemory>& shared);

}  // namespace cuvmm::tools
