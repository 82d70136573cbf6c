// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/physical.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CUVMM_POISONS
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(CUVMM_POISONS)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

#include "emulator/base/system.h"
#include "emulator/hostile/hostile_driver.h"
#include "emulator/machine/shareable.h"

namespace cuvmm::emulator {

namespace {

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// A byte for each page from `at` on, which is odd where the page exists: to read a page that does
// not exist would create it. Empty where the kernel cannot tell, because mincore() does not report
// pages that were swapped out.
std::vector<unsigned char> pages_there(char* at, std::uint64_t size) {
  struct sysinfo machine {};
  if (sysinfo(&machine) != 0 || machine.totalswap != 0) return {};
  std::vector<unsigned char> there((size + kPage - 1) / kPage);
  if (mincore(at, size, there.data()) != 0) there.clear();
  return there;
}

// Copies only pages that are not zero, because a copied page of zeroes would cost memory that was
// never used.
void copy_pages(char* to, const char* from, const Touched::Span& span, std::uint64_t size) {
  static constexpr char kZero[kPage] = {};
  const std::uint64_t end = std::min(span.end, size);
  for (std::uint64_t at = span.begin; at < end; at += kPage) {
    const std::uint64_t n = std::min(kPage, end - at);
    if (std::memcmp(from + at, kZero, n) != 0) std::memcpy(to + at, from + at, n);
  }
}

// Copies memory in which the CPU may have touched any page.
void copy_all(char* to, char* from, std::uint64_t size) {
  const std::vector<unsigned char> there = pages_there(from, size);
  if (there.empty()) return copy_pages(to, from, {0, size}, size);
  for (std::uint64_t page = 0; page < there.size(); ++page) {
    if (there[page] & 1) copy_pages(to, from, {page * kPage, (page + 1) * kPage}, size);
  }
}

// Anonymous memory of allocations that have ended, kept for the next ones: to map memory, to touch
// its first page and to unmap it again takes longer than most calls. AddressSanitizer
// reports code that touches it meanwhile, as if it had been unmapped. Only the process that mapped
// the first such memory reuses it, because its children have the same bytes.
class SpareMemory {
 public:
  /// Memory of `size` bytes, all of them zero; null where none of that size is kept. Before the
  /// first memory is mapped.
  char* take(std::uint64_t size) {
    if (getpid() != owner_) return nullptr;
    const std::lock_guard lock(mutex_);
    // The newest, which is most likely still in the caches.
    const auto found = std::find_if(spare_.rbegin(), spare_.rend(),
                                    [&](const Mapping& each) { return each.size == size; });
    if (found == spare_.rend()) return nullptr;
    const Mapping mapping = std::move(*found);
    spare_.erase(std::next(found).base());
    allow(mapping);
    return mapping.bytes;
  }
  /// Keeps memory whose bytes outside of `touched` are zero, or unmaps it.
  void give(char* bytes, std::uint64_t size, const std::vector<Touched::Span>& touched) noexcept {
    std::uint64_t exist = 0;
    for (const Touched::Span& span : touched) exist += span.end - span.begin;
    try {
      if (exist <= kMostTouched && getpid() == owner_) return keep({bytes, size, touched});
    } catch (const std::bad_alloc&) {
    }
    munmap(bytes, size);
  }
  static SpareMemory& get() {
    static SpareMemory& only = *new SpareMemory;  // memory may end behind the last exit handler
    return only;
  }

 private:
  static constexpr std::size_t kMost = 16;
  static constexpr std::uint64_t kMostTouched = 64 << 10;  ///< bytes that exist, of each

  struct Mapping {
    char* bytes;
    std::uint64_t size;
    std::vector<Touched::Span> touched;
  };
  SpareMemory() { spare_.reserve(kMost); }
  void keep(Mapping mapping) {
    for (const Touched::Span& span : mapping.touched) {
      std::memset(mapping.bytes + span.begin, 0, span.end - span.begin);
      ASAN_POISON_MEMORY_REGION(mapping.bytes + span.begin, span.end - span.begin);
    }
    const std::lock_guard lock(mutex_);
    if (spare_.size() == kMost) {
      allow(spare_.front());
      munmap(spare_.front().bytes, spare_.front().size);
      spare_.erase(spare_.begin());
    }
    spare_.push_back(std::move(mapping));
  }
  static void allow(const Mapping& mapping) {
    for (const Touched::Span& span : mapping.touched) {
      ASAN_UNPOISON_MEMORY_REGION(mapping.bytes + span.begin, span.end - span.begin);
    }
  }

  const pid_t owner_ = getpid();
  std::mutex mutex_;
  std::vector<Mapping> spare_;  ///< the oldest first
};

bool g_follows_writes = false;

}  // namespace

Physical::Physical(std::uint64_t size, const CUmemAllocationProp& prop, bool shared,
                   std::uint64_t charge, std::uint64_t* account)
    : size_(size),
      prop_(prop),
      shared_(shared),
      id_(next_id()),
      charge_(charge),
      account_(account) {
  if (account_) *account_ += charge_;
  if (g_follows_writes && is_device(prop.location)) written_ = Written(size);
}

void Physical::follow_writes() { g_follows_writes = true; }

Physical::Physical(int fd) : file_(fd), imported_(true), id_(next_id()) {}

void Physical::describe(std::uint64_t size, const CUmemAllocationProp& prop) {
  size_ = size;
  prop_ = prop;
}

Physical::Physical(Physical&& other) noexcept
    : size_(other.size_),
      prop_(other.prop_),
      shared_(other.shared_),
      file_(std::move(other.file_)),
      bytes_(std::exchange(other.bytes_, nullptr)),
      exported_(other.exported_),
      fabric_handle_(std::move(other.fabric_handle_)),
      imported_(other.imported_),
      placed_(other.placed_),
      touched_(std::move(other.touched_)),
      written_(std::move(other.written_)),
      id_(other.id_),
      charge_(other.charge_),
      account_(std::exchange(other.account_, nullptr)) {}

Physical::~Physical() {
  if (bytes_ && !placed_) let_go(bytes_);
  if (account_) *account_ -= charge_;
}

void Physical::let_go(char* bytes) {
  if (shared_) {
    munmap(bytes, size_);
  } else {
    SpareMemory::get().give(bytes, size_, touched_.spans());
  }
}

char* Physical::touch(std::uint64_t offset, std::uint64_t size) {
  if (!shared_) touched_.add(offset, offset + size);
  if (bytes_) return bytes_;
  int fd = -1;
  if (shared_) {
    const bool had = file_.had();
    fd = own_descriptor();
    if (fd < 0 && had) return nullptr;  // the program closed it
    if (fd < 0) {
      // No descriptor is left, or RLIMIT_FSIZE is too low: a GPU would still have the memory.
      shared_ = false;
      touched_.add(offset, offset + size);
    }
  }
  if (fd < 0) bytes_ = SpareMemory::get().take(size_);
  if (bytes_) return bytes_;
  const int flags = MAP_SHARED | MAP_NORESERVE | (fd < 0 ? MAP_ANONYMOUS : 0);
  void* at = mmap(nullptr, size_, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (at == MAP_FAILED) return nullptr;
  bytes_ = static_cast<char*>(at);
  return bytes_;
}

void Physical::poison() {
  constexpr std::uint64_t kMost = std::uint64_t{16} << 20;
  const std::uint64_t size = std::min(size_, kMost);
  if (char* const bytes = touch(0, size))
    fill_with_poison(bytes, size, hostile_driver().seed + id_);
}

int Physical::own_descriptor() { return file_.had() ? file_.get() : create_descriptor(); }

int Physical::descriptor() {
  written_ = {};  // others may write from here on
  return own_descriptor();
}

int Physical::create_descriptor() {
  const int fd = create_shareable(size_, prop_);
  if (fd < 0) return -1;
  Descriptor file(fd);
  if (bytes_ && !move_into(fd)) return -1;
  file_ = std::move(file);
  shared_ = true;
  return fd;
}

// Each export is an open file description of its own with a shared lock, which ends when the last
// copy of the descriptor does: an exclusive lock by this process then succeeds.
int Physical::export_descriptor() {
  const int fd = descriptor();
  if (fd < 0) return -1;
  char path[32];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const int exported = sys_open(path, O_RDWR | O_CLOEXEC);
  // Without /proc held_elsewhere() does not see this copy.
  if (exported < 0) return fcntl(fd, F_DUPFD_CLOEXEC, 0);
  exported_ = flock(exported, LOCK_SH | LOCK_NB) == 0 || exported_;
  if (!hostile_driver().high_descriptors) return exported;
  // Programs that store a descriptor's number in eight bits cannot hold this number.
  constexpr int kHigh = 300;
  const int high = fcntl(exported, F_DUPFD_CLOEXEC, kHigh);
  if (high < 0) return exported;
  close(exported);
  return high;
}

std::optional<IpcBytes> Physical::fabric_handle() {
  if (fabric_handle_) return *fabric_handle_;
  const int fd = descriptor();
  IpcBytes bytes;
  if (fd < 0 || !issue_ticket(fd, TicketKind::kFabricMemory, size_, 0, bytes)) return std::nullopt;
  exported_ = true;
  fabric_handle_ = std::make_unique<IpcBytes>(bytes);
  return bytes;
}

void Physical::withdraw() {
  if (fabric_handle_ && file_.get() >= 0) withdraw_ticket(file_.get(), size_);
  fabric_handle_.reset();
}

bool Physical::held_elsewhere() {
  const int fd = exported_ ? file_.get() : -1;
  if (fd < 0) return false;
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  flock(fd, LOCK_UN);
  return false;
}

// The memory was anonymous so far: moves its contents into the file. Only touched pages are read,
// because to read another page would create it; where the CPU reaches the memory, copy_all() finds
// the pages, because nothing records the CPU's accesses.
bool Physical::move_into(int fd) {
  constexpr int kFlags = MAP_SHARED | MAP_NORESERVE;
  void* at = mmap(nullptr, size_, PROT_READ | PROT_WRITE, kFlags, fd, 0);
  if (at == MAP_FAILED) return false;
  char* to = static_cast<char*>(at);
  if (!placed_) {
    for (const Touched::Span& span : touched_.spans()) copy_pages(to, bytes_, span, size_);
    let_go(bytes_);
    bytes_ = to;
    return true;
  }
  copy_all(to, bytes_, size_);
  const void* moved = mmap(bytes_, size_, PROT_READ | PROT_WRITE, kFlags | MAP_FIXED, fd, 0);
  munmap(to, size_);
  return moved != MAP_FAILED;
}

bool Physical::place_at(std::uint64_t at) {
  written_ = {};  // the CPU may write
  const int flags = MAP_SHARED | MAP_NORESERVE | MAP_ANONYMOUS | MAP_FIXED;
  void* there = mmap(reinterpret_cast<void*>(at), size_, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (there == MAP_FAILED) return false;
  if (char* const before = std::exchange(bytes_, static_cast<char*>(there))) {
    for (const Touched::Span& span : touched_.spans()) copy_pages(bytes_, before, span, size_);
    let_go(before);
  }
  placed_ = true;
  return true;
}

bool Physical::map_at(std::uint64_t at, std::uint64_t size, int protection) {
  const int fd = size > size_ ? -1 : descriptor();
  if (fd < 0) return false;
  return mmap(reinterpret_cast<void*>(at), size, protection, MAP_SHARED | MAP_FIXED, fd, 0) !=
         MAP_FAILED;
}

}  // namespace cuvmm::emulator
