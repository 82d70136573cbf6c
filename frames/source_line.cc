// SPDX-License-Identifier: Apache-2.0
#include "frames/source_line.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "frames/interleave.h"
#include "frames/runtime_frames.h"

namespace cuvmm::frames {

namespace {

constexpr int kFilesTried = 4;
constexpr std::size_t kMostBytes = 4 << 20;  // of a file, up to the end of the line
constexpr std::size_t kLongest = 160;        // bytes of a line that are shown

// Whether the file is a regular one that has been as it is since the frame's code was made. The
// check comes before open(), because to open a FIFO or a device may have an effect.
bool still_fits(const Frame& frame, const std::string& path, std::int64_t since) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  if (facts.st_mtime > since) return false;
  struct stat module {};
  return frame.python() ||
         (::stat(frame.module.c_str(), &module) == 0 && facts.st_mtime <= module.st_mtime);
}

// System calls, because a thread of the program may be cancelled in the functions of the C library,
// and because the shim stands in front of close().
std::string line_of(const std::string& path, int wanted) {
  const long fd = ::syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return {};
  std::string line, bytes(std::size_t{1} << 14, '\0');
  std::size_t at = 0;
  int number = 1;
  bool ended = false;
  while (!ended && at < kMostBytes) {
    const long count = ::syscall(SYS_pread64, fd, bytes.data(), bytes.size(), at);
    if (count <= 0) break;
    at += static_cast<std::size_t>(count);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count) && !ended; ++i) {
      if (bytes[i] == '\n') {
        ended = number++ == wanted;
      } else if (number == wanted) {
        line += bytes[i];
      }
    }
  }
  ::syscall(SYS_close, fd);
  return line;
}

// The line without indentation, and without bytes that move a terminal's cursor.
std::string tidied(std::string line) {
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  const std::size_t begin = line.find_first_not_of(' ');
  if (begin == std::string::npos) return {};
  line = line.substr(begin, line.find_last_not_of(' ') + 1 - begin);
  if (line.size() <= kLongest) return line;
  std::size_t end = kLongest;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;
  return line.substr(0, end) + " ...";
}

}  // namespace

void add_source_line(std::vector<Frame>& frames, std::int64_t since, const std::string& folder) {
  int tried = 0;
  for (Frame& frame : frames) {
    if (frame.file.empty() || frame.file.starts_with('<') || frame.line <= 0) continue;
    if (of_interpreter(frame) || of_cuda_runtime(frame)) continue;
    const bool absolute = frame.file.starts_with('/');
    if (!absolute && (!frame.python() || folder.empty())) continue;
    if (++tried > kFilesTried) return;
    const std::string path = absolute ? frame.file : folder + "/" + frame.file;
    if (!still_fits(frame, path, since)) continue;
    frame.source = tidied(line_of(path, frame.line));
    if (!frame.source.empty()) return;
  }
}

}  // namespace cuvmm::frames
