// SPDX-License-Identifier: Apache-2.0
#include "shim/report/report_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "api/posix/lost_mark.h"
#include "shim/report/json_report.h"

namespace cuvmm::shim {

namespace {

// The path with its folder's symbolic links followed, and with its own if the file exists, because
// the report must replace the file that a link names, and not the link.
std::string followed(const std::string& path) {
  std::string result = path;
  if (char* whole = ::realpath(path.c_str(), nullptr)) {
    result = whole;
    ::free(whole);
    return result;
  }
  const std::size_t slash = path.rfind('/');
  if (char* folder = ::realpath(path.substr(0, slash + 1).c_str(), nullptr)) {
    result = folder + path.substr(slash);
    ::free(folder);
  }
  return result;
}

// Writes `name` + ".<pid>.<time>.tmp" into a fixed buffer; false if it does not fit.
bool temporary_name(const char* name, int pid, char* out, std::size_t size) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  // In glibc, snprintf with integers and a plain string takes no lock and allocates nothing.
  const int length = ::snprintf(out, size, "%s.%d.%lld.tmp", name, pid,
                                static_cast<long long>(now.tv_sec) * 1000000000 + now.tv_nsec);
  return length > 0 && static_cast<std::size_t>(length) < size;
}

}  // namespace

void ReportFile::choose(std::string path, bool appends) {
  file_.close();
  made_ = false;
  appends_ = appends;
  const std::string before = path_.substr(0, name_);
  path_ = path.empty() ? std::move(path) : followed(path);
  name_ = path_.rfind('/') + 1;
  // A child of fork uses its parent's descriptor, because the folder may be out of the child's
  // reach by now.
  if (!path_.empty() && path_.substr(0, name_) == before && folder_.get() >= 0) return;
  folder_.close();
  if (path_.empty()) return;
  folder_.keep(::open(path_.substr(0, name_).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

int ReportFile::open_folder() const noexcept {
  const int folder = folder_.get();
  return folder >= 0 ? folder : AT_FDCWD;
}

const char* ReportFile::name_in(int folder) const noexcept {
  return path_.c_str() + (folder == AT_FDCWD ? 0 : name_);
}

int ReportFile::write(const ReportContext& context, const Ledger& ledger,
                      bool keep_existing) noexcept {
  const int folder = open_folder();
  struct stat there;
  const bool exists = ::fstatat(folder, name_in(folder), &there, 0) == 0;
  if (keep_existing && exists) return 0;
  if (exists && !S_ISREG(there.st_mode)) {
    // A pipe or a terminal cannot be replaced by a rename.
    const int fd = ::openat(folder, name_in(folder), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return errno;
    const int error = write_document(fd, context, ledger);
    ::close(fd);
    return error;
  }
  const int error = replace(context, ledger);
  if (error == 0 || !appends_) return error;
  return append(context, ledger) == 0 ? 0 : error;
}

int ReportFile::replace(const ReportContext& context, const Ledger& ledger) noexcept {
  const int folder = open_folder();
  const char* const name = name_in(folder);
  char temporary[4096];
  if (!temporary_name(name, context.pid, temporary, sizeof temporary)) return ENAMETOOLONG;
  const int fd = ::openat(folder, temporary, O_WRONLY | O_CREAT | O_CLOEXEC | O_EXCL, 0666);
  if (fd < 0) return errno;
  struct stat there;
  if (::fstatat(folder, name, &there, 0) == 0 && S_ISREG(there.st_mode)) {
    (void)::fchmod(fd, there.st_mode & 07777);
  }
  int error = write_document(fd, context, ledger);
  // Even a file without a whole document shows that the process existed.
  const bool only_a_mark = error != 0 && appends_ && !made_;
  bool in_place = false;
  if (error == 0 || only_a_mark) {
    in_place = ::renameat(folder, temporary, folder, name) == 0;
    if (!in_place) error = errno;
  }
  if (!in_place) ::unlinkat(folder, temporary, 0);
  if (!in_place || !appends_) {
    ::close(fd);
    return error;
  }
  made_ = true;
  file_.keep(fd);
  return error;
}

void ReportFile::mark_lost(bool lost) noexcept {
  const int folder = open_folder();
  char mark[4096];
  const int length = ::snprintf(mark, sizeof mark, "%s%s", name_in(folder), kLostMark);
  if (length <= 0 || static_cast<std::size_t>(length) >= sizeof mark) return;
  if (!lost) {
    if (marked_) ::unlinkat(folder, mark, 0);
    marked_ = false;
    return;
  }
  const int fd = ::openat(folder, mark, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  marked_ = fd >= 0;
  if (fd >= 0) {
    ::close(fd);
  } else if (file_.get() >= 0) {
    (void)!::ftruncate(file_.get(), 0);
  }
}

int ReportFile::append(const ReportContext& context, const Ledger& ledger) noexcept {
  const int fd = file_.get();
  if (fd < 0) return EBADF;
  if (::lseek(fd, 0, SEEK_END) < 0) return errno;
  return write_document(fd, context, ledger);
}

}  // namespace cuvmm::shim
