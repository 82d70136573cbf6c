// SPDX-License-Identifier: Apache-2.0
// The file of a trace, which cuvmm can write whatever the program does with descriptors.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "shim/output/private_descriptor.h"

namespace cuvmm::shim {

class TraceFile {
 public:
  TraceFile(int fd, std::string path);
  /// Makes one write, so that the line is in the file even if the driver dies in the next call.
  void write(std::string_view line);

 private:
  int place();

  std::string path_;
  PrivateDescriptor file_;
  off_t whole_ = 0;    ///< bytes of whole lines
  bool full_ = false;  ///< a line could not be written: no further line is written
};

}  // namespace cuvmm::shim
