// SPDX-License-Identifier: Apache-2.0
#include "shim/trace/trace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "api/posix/cancel_off.h"
#include "api/posix/raw_write.h"
#include "shim/output/output.h"

namespace cuvmm::shim {

TraceFile::TraceFile(int fd, std::string path)
    : path_(std::move(path)), whole_(::lseek(fd, 0, SEEK_END)) {
  file_.keep(fd);
}

void TraceFile::write(std::string_view line) {
  if (full_) return;
  const int fd = place();
  if (fd < 0) return;
  const int error = raw_write(fd, line);
  if (error == 0) {
    whole_ += static_cast<off_t>(line.size());
    return;
  }
  full_ = true;
  // A part of a line would be no program text. A pipe has no length, so that ftruncate fails.
  if (whole_ > 0 && ::ftruncate(fd, whole_) != 0) whole_ = 0;
  say("the trace " + path_ + " ends here: a call could not be written: " + std::strerror(error));
}

// The program may have closed the descriptor: then a file of its own may have the number.
int TraceFile::place() {
  if (const int fd = file_.get(); fd >= 0) return fd;
  const CancelOff no_cancel;
  const int again = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file_.is_same_file(again)) {
    file_.keep(again);
    return file_.get();
  }
  if (again >= 0) ::close(again);
  return -1;
}

}  // namespace cuvmm::shim
