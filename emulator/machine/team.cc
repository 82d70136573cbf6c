// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/team.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "emulator/base/device_identity.h"
#include "emulator/base/system.h"
#include "emulator/machine/ticket.h"

namespace cuvmm::emulator {

namespace {

constexpr char kMagic[16] = "cuvmm-multicast";
constexpr std::uint32_t kVersion = 3;
constexpr std::size_t kEntries = 2048;
// Neither the size nor the seals may change under the mapping of this process (SIGBUS).
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr int kMaxMachine = VisibleDevices::kMost;

// An entry's state: 0 is free; else the process id, shifted by two bits, plus kClaimed while the
// entry is being written, or kBound.
constexpr std::uint64_t kClaimed = 1;
constexpr std::uint64_t kBound = 2;
std::uint64_t mine(std::uint64_t kind) {
  return static_cast<std::uint64_t>(::getpid()) << 2 | kind;
}

bool overlap(std::uint64_t a, std::uint64_t a_size, std::uint64_t b, std::uint64_t b_size) {
  return a < b ? b - a < a_size : a - b < b_size;
}

// A device of the machine, as this process knows it.
std::string device_text(int device) {
  const int own = g_visible.own(device);
  return own >= 0 ? "device " + std::to_string(own) : "a device that this process does not see";
}

}  // namespace

struct Team::Entry {
  std::atomic<std::uint64_t> state, fd, device, offset, size, memory_offset, inode, behind;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// The fields have fixed widths, because the processes may be built against different CUDA headers.
struct Team::Shared {
  char magic[16];
  std::uint32_t version;
  std::atomic<std::uint32_t> devices, kind, host;
  std::atomic<std::uint64_t> size, added;
  Entry entries[kEntries];
};

struct Team::Piece {
  Binding binding;
  std::uint64_t at = 0;    ///< in the object
  std::uint64_t size = 0;  ///< bytes
};

Team::Team(Descriptor file, Shared* shared, TeamKind kind, unsigned devices, std::uint64_t size,
           int machine)
    : file_(std::move(file)),
      shared_(shared),
      kind_(kind),
      devices_(devices),
      size_(size),
      machine_mask_(~std::uint64_t{0} >> (kMaxMachine - std::clamp(machine, 1, kMaxMachine))) {}

Team::~Team() { ::munmap(shared_, sizeof(Shared)); }

std::shared_ptr<Team> Team::create(unsigned devices, std::uint64_t size, TeamKind kind) {
  Descriptor file(::memfd_create("cuvmm-multicast", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const int fd = file.get();
  if (fd < 0) return nullptr;
  void* at = MAP_FAILED;
  if (sys_resize(fd, sizeof(Shared)) && ::fcntl(fd, F_ADD_SEALS, kSeals) == 0) {
    at = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  if (at == MAP_FAILED) return nullptr;
  auto* shared = static_cast<Shared*>(at);  // all zeroes: a team without devices and bindings
  std::memcpy(shared->magic, kMagic, sizeof kMagic);
  shared->version = kVersion;
  shared->devices.store(devices);
  shared->host.store(static_cast<std::uint32_t>(g_visible.host()));
  shared->kind.store(static_cast<std::uint32_t>(kind));
  shared->size.store(size);
  return std::shared_ptr<Team>(new Team(std::move(file), shared, kind, devices, size, kMaxMachine));
}

std::shared_ptr<Team> Team::open(int fd, int machine, Hosts hosts) {
  if (!is_fixed_memfd(fd)) return nullptr;
  // Reads the copy only, because the program's own descriptor may name another file by now.
  Descriptor file(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  const int copy = file.get();
  struct stat status;
  const bool good = is_fixed_memfd(copy) && ::fstat(copy, &status) == 0 &&
                    status.st_size == static_cast<off_t>(sizeof(Shared));
  void* at = good ? ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, copy, 0)
                  : MAP_FAILED;
  if (at == MAP_FAILED) return nullptr;
  auto* shared = static_cast<Shared*>(at);
  // Each value is read once, because another process could change it between the check and the use.
  const unsigned devices = shared->devices.load();
  const std::uint64_t size = shared->size.load();
  const std::uint32_t kind = shared->kind.load();
  std::shared_ptr<Team> team(
      new Team(std::move(file), shared, static_cast<TeamKind>(kind), devices, size, machine));
  const bool near =
      hosts == Hosts::kAny || shared->host.load() == static_cast<std::uint32_t>(g_visible.host());
  const bool is_team = near && std::memcmp(shared->magic, kMagic, sizeof kMagic) == 0 &&
                       shared->version == kVersion && devices != 0 && size != 0 &&
                       kind <= static_cast<std::uint32_t>(TeamKind::kMulticastEndpoint);
  return is_team ? team : nullptr;
}

std::uint64_t Team::added() const { return shared_->added.load() & machine_mask_; }

Team::Members Team::members() const {
  Members out;
  for (std::uint64_t left = added(); left != 0; left &= left - 1) {
    const int own = g_visible.own(std::countr_zero(left));
    if (own < 0) {
      ++out.hidden;
    } else {
      out.visible |= std::uint64_t{1} << own;
    }
  }
  return out;
}

bool Team::complete() const { return static_cast<unsigned>(std::popcount(added())) >= devices_; }

bool Team::add(int device) {
  const std::uint64_t bit = std::uint64_t{1} << g_visible.of_machine(device);
  std::uint64_t before = shared_->added.load();
  do {
    if ((before & bit) != 0 ||
        static_cast<unsigned>(std::popcount(before & machine_mask_)) >= devices_) {
      return false;
    }
  } while (!shared_->added.compare_exchange_weak(before, before | bit));
  sys_wake_all(shared_->added);
  return true;
}

void Team::wait(std::chrono::milliseconds timeout) const {
  using Clock = std::chrono::steady_clock;
  constexpr Clock::duration kLookAgain = std::chrono::milliseconds(100);
  const auto end = Clock::now() + timeout;
  while (true) {
    const std::uint64_t seen = shared_->added.load();
    const auto left = end - Clock::now();
    if (complete() || left <= Clock::duration::zero()) return;
    sys_wait_while(shared_->added, seen, std::min(left, kLookAgain));
  }
}

// Processes take entries from the first on, so pages of the file that do not exist hold no binding.
// To read them would create them, thirty pages for every object.
std::span<Team::Entry> Team::used() const {
  const off_t hole = ::lseek(file_.get(), 0, SEEK_HOLE);
  constexpr off_t kFirst = offsetof(Shared, entries);
  if (hole < kFirst) return shared_->entries;
  const auto count = static_cast<std::size_t>(hole - kFirst) / sizeof(Entry);
  return std::span(shared_->entries).first(std::min(count, kEntries));
}

bool Team::read(const Entry& entry, Binding& out) const {
  out.state = entry.state.load();
  if ((out.state & 3) != kBound) return false;
  out.process = static_cast<int>(out.state >> 2 & 0x7fffffff);
  out.fd = static_cast<int>(entry.fd.load() & 0x7fffffff);
  out.device = static_cast<int>(entry.device.load() & 0x3f);
  out.offset = entry.offset.load();
  out.size = entry.size.load();
  out.memory_offset = entry.memory_offset.load();
  out.inode = entry.inode.load();
  out.behind = entry.behind.load();
  if (entry.state.load() != out.state) return false;
  return out.process != 0 && out.size != 0 && out.offset < size_ && out.size <= size_ - out.offset;
}

int Team::open_memory(const Binding& binding) {
  // The kernel decides whether this process may open the file, as for cuIpcOpenMemHandle.
  if (!same_user(binding.process)) return -1;
  const std::string path =
      "/proc/" + std::to_string(binding.process) + "/fd/" + std::to_string(binding.fd);
  // Checks the name before the open, because to open another program's device or pipe would have
  // effects.
  constexpr std::string_view kName = "/memfd:cuvmm-allocation";
  char name[64];
  struct stat status;
  const ssize_t length = ::readlink(path.c_str(), name, sizeof name);
  if (length < 0 || !std::string_view(name, static_cast<std::size_t>(length)).starts_with(kName) ||
      ::stat(path.c_str(), &status) != 0 || status.st_ino != binding.inode) {
    return -1;
  }
  const int fd = sys_open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return -1;
  const auto memory = read_shareable(fd, kMaxMachine, ShareableKind::kMemory, Hosts::kAny);
  const bool good = memory && ::fstat(fd, &status) == 0 && status.st_ino == binding.inode &&
                    binding.memory_offset < memory->size &&
                    binding.size <= memory->size - binding.memory_offset;
  if (good) return fd;
  sys_close(fd);
  return -1;
}

CUresult Team::bind(int own, std::uint64_t offset, std::uint64_t size, const Memory& memory) {
  const int device = g_visible.of_machine(own);
  struct stat status;
  if (::fstat(memory.fd, &status) != 0) return CUDA_ERROR_INVALID_VALUE;
  // Whether an entry before `end` holds a byte of the range. Removes bindings in the way whose
  // process or memory no longer exists.
  const auto taken = [&](std::size_t end) {
    const std::span<Entry> entries = used();
    for (Entry& entry : entries.first(std::min(end, entries.size()))) {
      Binding b;
      if (!read(entry, b) || b.device != device) continue;
      // Another process may have written any number, so no sum is formed that could wrap.
      const std::uint64_t behind = std::min(b.behind, size_);
      if (!overlap(b.offset, b.size + behind, offset, size + memory.behind)) continue;
      const int alive = open_memory(b);
      if (alive >= 0) {
        sys_close(alive);
        return true;
      }
      entry.state.compare_exchange_strong(b.state, 0);
    }
    return false;
  };
  if (taken(kEntries)) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < kEntries; ++i) {
    Entry& entry = shared_->entries[i];
    std::uint64_t expected = 0;
    if (!entry.state.compare_exchange_strong(expected, mine(kClaimed))) continue;
    entry.fd.store(static_cast<std::uint64_t>(memory.fd));
    entry.device.store(static_cast<std::uint64_t>(device));
    entry.offset.store(offset);
    entry.size.store(size);
    entry.memory_offset.store(memory.offset);
    entry.inode.store(status.st_ino);
    entry.behind.store(memory.behind);
    entry.state.store(mine(kBound));
    // Another process may have bound the range at once: the first entry stays.
    if (!taken(i)) return CUDA_SUCCESS;
    entry.state.store(0);
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_ERROR_OUT_OF_MEMORY;
}

std::size_t Team::unaligned() const {
  std::size_t count = 0;
  for (const Entry& entry : used()) {
    Binding b;
    if (read(entry, b) && b.behind != 0) ++count;
  }
  return count;
}

bool Team::unbind(int own, std::uint64_t offset) {
  const int device = g_visible.of_machine(own);
  for (Entry& entry : used()) {
    Binding b;
    if (!read(entry, b) || b.state != mine(kBound) || b.device != device || b.offset != offset) {
      continue;
    }
    return entry.state.compare_exchange_strong(b.state, 0);
  }
  return false;
}

std::string Team::pieces(std::uint64_t offset, std::uint64_t size, std::vector<Piece>& out) const {
  if (offset > size_ || size > size_ - offset) return "the range leaves the multicast object";
  if (!complete()) return "not every device was added to the team";
  std::vector<Binding> bindings;
  for (const Entry& entry : used()) {
    Binding b;
    if (read(entry, b) && overlap(b.offset, b.size, offset, size)) bindings.push_back(b);
  }
  const std::uint64_t team = added();
  for (int device = 0; device < kMaxMachine; ++device) {
    if ((team >> device & 1) == 0) continue;
    for (std::uint64_t at = offset, left = size; left != 0;) {
      const auto found = std::find_if(bindings.begin(), bindings.end(), [&](const Binding& b) {
        return b.device == device && at >= b.offset && at - b.offset < b.size;
      });
      if (found == bindings.end()) {
        return device_text(device) + " has nothing bound at offset " + std::to_string(at);
      }
      const std::uint64_t run = std::min(left, found->size - (at - found->offset));
      out.push_back({*found, at, run});
      at += run;
      left -= run;
    }
  }
  return {};
}

std::string Team::unwritable(std::uint64_t offset, std::uint64_t size) const {
  std::vector<Piece> all;
  if (std::string why = pieces(offset, size, all); !why.empty()) return why;
  for (const Piece& piece : all) {
    const int fd = open_memory(piece.binding);
    if (fd < 0) {
      return "the memory of " + device_text(piece.binding.device) +
             " has ended, or this process may not reach its process";
    }
    sys_close(fd);
  }
  return {};
}

bool Team::write(std::uint64_t offset, const char* bytes, std::uint64_t size) const {
  std::vector<Piece> all;
  if (!pieces(offset, size, all).empty()) return false;
  for (const Piece& piece : all) {
    const int fd = open_memory(piece.binding);
    if (fd < 0) return false;
    const char* from = bytes + (piece.at - offset);
    std::uint64_t to = piece.binding.memory_offset + (piece.at - piece.binding.offset);
    for (std::uint64_t left = piece.size; left != 0;) {
      const ssize_t done = sys_pwrite(fd, from, left, to);
      if (done <= 0) break;
      from += done;
      to += static_cast<std::uint64_t>(done);
      left -= static_cast<std::uint64_t>(done);
    }
    sys_close(fd);
  }
  return true;
}

bool Team::read(std::uint64_t offset, char* bytes, std::uint64_t size) const {
  std::vector<Piece> all;
  if (!pieces(offset, size, all).empty()) return false;
  const int first = all.empty() ? 0 : all.front().binding.device;
  for (const Piece& piece : all) {
    if (piece.binding.device != first) break;  // the pieces of a device are adjacent
    const int fd = open_memory(piece.binding);
    if (fd < 0) return false;
    char* to = bytes + (piece.at - offset);
    std::uint64_t from = piece.binding.memory_offset + (piece.at - piece.binding.offset);
    for (std::uint64_t left = piece.size; left != 0;) {
      const ssize_t done = sys_pread(fd, to, left, from);
      if (done <= 0) break;
      to += done;
      from += static_cast<std::uint64_t>(done);
      left -= static_cast<std::uint64_t>(done);
    }
    sys_close(fd);
  }
  return true;
}

}  // namespace cuvmm::emulator
