// SPDX-License-Identifier: Apache-2.0
// The file of a trace, which stays ours whatever the program does with descriptors.
#pragma once

#include <string>
#include <string_view>

#include "shim/process/kept_descriptor.h"

namespace cuvmm::shim {

class TraceFile {
 public:
  TraceFile(int fd, std::string path);
  /// One write: what was traced is there even if the driver dies in the next call.
  void write(std::string_view line);

 private:
  int place();

  std::string path_;
  KeptDescriptor file_;
};

}  // namespace cuvmm::shim
