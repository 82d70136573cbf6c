#include "shim/json_report.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cuvmm::shim {

namespace {

/// Buffered writing to a descriptor with no allocation, for signal handlers too.
class Writer {
 public:
  explicit Writer(int fd) : fd_(fd) {}
  void text(std::string_view text) {
    while (!text.empty()) {
      if (used_ == sizeof buffer_) flush();
      const std::size_t take = std::min(text.size(), sizeof buffer_ - used_);
      std::memcpy(buffer_ + used_, text.data(), take);
      used_ += take;
      text.remove_prefix(take);
    }
  }
  void number(std::uint64_t value) {
    char digits[20];
    std::size_t at = sizeof digits;
    do {
      digits[--at] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    text({digits + at, sizeof digits - at});
  }
  void member(const char* name, std::uint64_t value, bool first = false) {
    text(first ? "\"" : ",\"");
    text(name);
    text("\":");
    number(value);
  }
  int flush() {
    const char* from = buffer_;
    while (used_ > 0 && error_ == 0) {
      const ssize_t written = ::write(fd_, from, used_);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        error_ = errno;
        break;
      }
      from += written;
      used_ -= static_cast<std::size_t>(written);
    }
    used_ = 0;
    return error_;
  }

 private:
  int fd_;
  int error_ = 0;
  std::size_t used_ = 0;
  char buffer_[8192];
};

void write_document(Writer& out, const ReportContext& context, const Ledger& ledger) {
  out.text("{\"schema\":1");
  out.member("pid", static_cast<std::uint64_t>(context.pid));
  out.text(",\"ended\":\"");
  out.text(context.ended);
  out.text("\",\"driver\":");
  out.text(context.driver);
  out.text(",\"calls\":{");
  bool first = true;
  for (std::size_t i = 0; i < std::size(context.counts); ++i) {
    if (context.counts[i] == 0) continue;
    out.member(name(static_cast<EntryPoint>(i)), context.counts[i], first);
    first = false;
  }
  out.text("},\"unchecked\":");
  out.text(context.unchecked);
  out.text(",\"findings\":[");
  for (const Entry* entry = ledger.first(); entry; entry = entry->next.load()) {
    out.text(entry == ledger.first() ? "\n{" : ",\n{");
    out.text(entry->json);
    out.member("count", entry->count.load());
    out.text("}");
  }
  const Totals totals = ledger.totals();
  out.text("],\n\"summary\":{");
  out.member("error", totals.errors, true);
  out.member("undefined", totals.undefined);
  out.member("leak", totals.leaks);
  out.text("}");
  out.member("suppressed", ledger.suppressed());
  out.text(",\"alive\":{");
  out.member("allocations", context.alive_allocations, true);
  out.member("bytes", context.alive_bytes);
  out.member("reservations", context.alive_reservations);
  out.text("}");
  if (!context.ipc.empty()) {
    out.text(",\n\"ipc\":");
    out.text(context.ipc);
  }
  out.text("}\n");
}

// `path` + ".<pid>.<time>.tmp", in a fixed buffer; false when it does not fit.
bool temporary_name(const char* path, int pid, char* out, std::size_t size) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  // snprintf with integers and a plain string takes no lock and no memory in glibc.
  const int length = ::snprintf(out, size, "%s.%d.%lld.tmp", path, pid,
                                static_cast<long long>(now.tv_sec) * 1000000000 + now.tv_nsec);
  return length > 0 && static_cast<std::size_t>(length) < size;
}

}  // namespace

int write_report(const char* path, const ReportContext& context, const Ledger& ledger,
                 bool keep_existing) noexcept {
  char temporary[4096];
  struct stat there;
  if (keep_existing && ::stat(path, &there) == 0) return 0;
  // A report into a pipe or a terminal cannot be renamed into place.
  const bool special = ::stat(path, &there) == 0 && !S_ISREG(there.st_mode);
  if (!special && !temporary_name(path, context.pid, temporary, sizeof temporary))
    return ENAMETOOLONG;
  const char* target = special ? path : temporary;
  const int fd = ::open(target, O_WRONLY | O_CREAT | O_CLOEXEC | (special ? 0 : O_EXCL), 0666);
  if (fd < 0) return errno;
  Writer out(fd);
  write_document(out, context, ledger);
  int error = out.flush();
  if (::close(fd) != 0 && error == 0) error = errno;
  if (special) return error;
  if (error == 0 && ::rename(temporary, path) != 0) error = errno;
  if (error != 0) ::unlink(temporary);
  return error;
}

}  // namespace cuvmm::shim
