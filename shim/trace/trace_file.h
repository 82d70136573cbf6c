// SPDX-License-Identifier: Apache-2.0
// The file of a trace, which stays ours whatever the program does with descriptors.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "shim/output/kept_descriptor.h"

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
  off_t whole_ = 0;    ///< bytes of whole lines
  bool full_ = false;  ///< a line could not be written: no other comes behind it
};

}  // namespace cuvmm::shim
