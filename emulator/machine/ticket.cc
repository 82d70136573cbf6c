// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/ticket.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "api/sizes.h"
#include "emulator/base/system.h"

namespace cuvmm::emulator {

namespace {

using Token = Facts::Token;

constexpr char kMagic[8] = {'c', 'u', 'v', 'm', 'm', 'i', 'p', 'c'};
constexpr std::uint8_t kVersion = 1;
// Follows the trailer of emulator/machine/shareable.cc, in the file's last page.
constexpr std::uint64_t kTicketAt = 1024;

/// A descriptor that is closed when the call ends.
class Opened {
 public:
  explicit Opened(int fd) : fd_(fd) {}
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() {
    if (fd_ >= 0) sys_close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

IpcBytes bytes_of(const Ticket& ticket) { return ipc_bytes(ticket); }

/// When a process started, in clock ticks since boot; 0 when no such process exists, or only a
/// zombie, which has no files.
std::uint64_t start_time(std::int32_t pid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const Opened file(sys_open(path, O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return 0;
  char text[1024];
  const ssize_t got = sys_read(file.get(), text, sizeof text - 1);
  if (got <= 0) return 0;
  text[got] = '\0';
  // The name, in parentheses, may contain any character; the state and 18 numbers follow it.
  const char* at = std::strrchr(text, ')');
  if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X') return 0;
  at += 3;
  constexpr int kBefore = 18;
  for (int i = 0; i < kBefore; ++i) {
    at = std::strchr(at + 1, ' ');
    if (!at) return 0;
  }
  return std::strtoull(at, nullptr, 10);
}

// The start time of this process, which every ticket contains.
std::uint64_t own_start_time() {
  static std::atomic<std::int32_t> asked{0};
  static std::atomic<std::uint64_t> answer{0};
  const std::int32_t pid = getpid();
  if (asked.load(std::memory_order_acquire) != pid) {  // at the first call, or in a child of fork
    answer = start_time(pid);
    asked.store(pid, std::memory_order_release);
  }
  return answer;
}

// Opens the file behind another process's descriptor, if it could be an allocation. Opens a path
// descriptor first, because to open a pipe or a device could block, or have effects.
int open_file(const Ticket& ticket, Token& why) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", ticket.pid, ticket.fd);
  const Opened there(sys_open(path, O_PATH | O_CLOEXEC));
  if (there.get() < 0) {
    why = errno == ENOENT ? Token::kEnded : Token::kForged;
    return -1;
  }
  why = Token::kEnded;
  struct stat status;
  struct statfs system;
  if (fstat(there.get(), &status) != 0 || !S_ISREG(status.st_mode)) return -1;
  if (fstatfs(there.get(), &system) != 0 || system.f_type != TMPFS_MAGIC) return -1;
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", there.get());
  return sys_open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

// Opens the file that result.ticket's process and descriptor lead to, if `same` accepts the ticket
// in it.
template <class Started, class Same>
void follow_place(Followed& result, TicketKind kind, int device_count, const Started& started,
                  const Same& same) {
  const Ticket& ticket = result.ticket;
  const bool own = ticket.pid == getpid();
  const std::uint64_t start = own ? own_start_time() : start_time(ticket.pid);
  if (start == 0 || !started(start)) {
    result.token = Token::kExporterEnded;  // the process id may belong to another process by now
    return;
  }
  if (!same_user(ticket.pid) || ticket.fd < 0) return;
  Opened file(open_file(ticket, result.token));
  if (file.get() < 0) return;
  const ShareableKind of = kind == TicketKind::kIpcEvent ? ShareableKind::kEvent
                           : kind == TicketKind::kEndpoint || kind == TicketKind::kFabricMulticast
                               ? ShareableKind::kTeam
                               : ShareableKind::kMemory;
  const auto found = read_shareable(file.get(), device_count, of, Hosts::kAny);
  // Only the fabric's handles mean anything on other hosts.
  if (found && !found->own_host && kind < TicketKind::kEndpoint) {
    result.token = Token::kForged;
    return;
  }
  const auto inside = found ? read_ticket(file.get(), *found, kind) : std::nullopt;
  if (!inside || !same(*inside)) return;
  result.ticket = *inside;
  result.file = *found;
  result.fd = file.release();
  result.token = own ? Token::kOwn : Token::kValid;
}

}  // namespace

bool same_user(std::int32_t pid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d", pid);
  struct stat status;
  // Root could read the files of every user, but must not do so here.
  return stat(path, &status) == 0 && status.st_uid == geteuid();
}

bool issue_ticket(int fd, TicketKind kind, std::uint64_t size, std::uint64_t pool, IpcBytes& out) {
  struct stat status;
  if (fstat(fd, &status) != 0 || status.st_size < static_cast<off_t>(2 * kPage)) return false;
  Ticket ticket;
  std::memcpy(ticket.magic, kMagic, sizeof kMagic);
  ticket.kind = kind;
  ticket.version = kVersion;
  ticket.pid = getpid();
  ticket.start = own_start_time();
  ticket.fd = fd;
  ticket.size = size;
  ticket.pool = pool;
  if (!sys_random(ticket.token, sizeof ticket.token)) return false;
  // A handle of memory has its descriptor at this place: other tickets get a negative number there,
  // so that they never pass for a handle.
  static_assert(offsetof(Ticket, token) + 4 == offsetof(MemoryHandle, fd));
  if (kind != TicketKind::kIpcMemory) ticket.token[7] |= 0x80;
  const auto at = static_cast<std::uint64_t>(status.st_size) - kPage + kTicketAt;
  if (sys_pwrite(fd, &ticket, sizeof ticket, at) != static_cast<ssize_t>(sizeof ticket)) {
    return false;
  }
  out = bytes_of(ticket);
  return true;
}

void withdraw_ticket(int fd, std::uint64_t size) {
  const Ticket none;
  sys_pwrite(fd, &none, sizeof none, size + kTicketAt);
}

std::optional<Ticket> read_ticket(int fd, const Shareable& file, TicketKind kind) {
  Ticket ticket;
  if (sys_pread(fd, &ticket, sizeof ticket, file.size + kTicketAt) !=
      static_cast<ssize_t>(sizeof ticket)) {
    return std::nullopt;
  }
  if (std::memcmp(ticket.magic, kMagic, sizeof kMagic) != 0 || ticket.version != kVersion ||
      ticket.kind != kind || ticket.size == 0 || ticket.size > file.size) {
    return std::nullopt;
  }
  return ticket;
}

Followed follow_ticket(const IpcBytes& bytes, TicketKind kind, int device_count) {
  Followed result;
  Ticket& ticket = result.ticket;
  std::memcpy(&ticket, bytes.data(), sizeof ticket);
  if (std::memcmp(ticket.magic, kMagic, sizeof kMagic) != 0 || ticket.version != kVersion ||
      ticket.kind != kind || ticket.pid <= 0 || ticket.fd < 0) {
    return result;
  }
  const auto same = [&](const Ticket& inside) { return bytes_of(inside) == bytes; };
  const auto started = [&](std::uint64_t start) { return start == ticket.start; };
  follow_place(result, kind, device_count, started, same);
  return result;
}

namespace {
// A process id has 22 bits; the bits above come from the start time, which tells the successive
// owners of an id apart.
constexpr std::uint32_t kIdBits = 22;
constexpr std::uint32_t kIdMask = (1u << kIdBits) - 1;

std::uint32_t process_word(std::int32_t pid, std::uint64_t start) {
  return (static_cast<std::uint32_t>(pid) & kIdMask) | static_cast<std::uint32_t>(start) << kIdBits;
}

std::uint32_t pages_of(std::uint64_t block) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(block / kPage, UINT32_MAX));
}
}  // namespace

MemoryHandle MemoryHandle::of(const IpcBytes& bytes) {
  MemoryHandle handle;
  std::memcpy(&handle, bytes.data(), sizeof handle);
  return handle;
}

IpcBytes MemoryHandle::bytes() const { return ipc_bytes(*this); }

bool MemoryHandle::same_block(const MemoryHandle& other) const {
  return std::memcmp(identity, other.identity, sizeof identity) == 0 && process == other.process &&
         fd == other.fd;
}

IpcBytes memory_handle(const IpcBytes& bytes, std::uint64_t block) {
  Ticket ticket;
  std::memcpy(&ticket, bytes.data(), sizeof ticket);
  MemoryHandle handle;
  std::memcpy(handle.magic, kMagic, sizeof kMagic);
  handle.size = ticket.size;
  handle.pages = pages_of(block);
  std::memcpy(handle.key, ticket.token, sizeof handle.key);
  std::memcpy(handle.identity, ticket.token + sizeof handle.key, sizeof handle.identity);
  handle.process = process_word(ticket.pid, ticket.start);
  handle.fd = ticket.fd;
  return handle.bytes();
}

Followed follow_handle(const MemoryHandle& handle, int device_count) {
  Followed result;
  result.ticket.pid = static_cast<std::int32_t>(handle.process & kIdMask);
  result.ticket.fd = handle.fd;
  // Refuses bytes that cannot be a handle before it looks at any process
  // (cuIpcOpenMemHandle/handle-valid~2).
  constexpr std::int32_t kMostDescriptors = 1 << 24;
  if (result.ticket.pid == 0 || handle.fd < 0 || handle.fd >= kMostDescriptors) return result;
  const auto started = [&](std::uint64_t start) {
    return process_word(result.ticket.pid, start) == handle.process;
  };
  const auto same = [&](const Ticket& inside) {
    return std::memcmp(inside.token, handle.key, sizeof handle.key) == 0;
  };
  follow_place(result, TicketKind::kIpcMemory, device_count, started, same);
  if (result.fd >= 0 && pages_of(result.file.size) != handle.pages) {
    sys_close(std::exchange(result.fd, -1));
    result.token = Token::kForged;
  }
  return result;
}

}  // namespace cuvmm::emulator
