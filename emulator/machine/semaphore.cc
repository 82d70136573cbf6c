// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/semaphore.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "emulator/base/system.h"
#include "emulator/machine/shareable.h"

namespace cuvmm::emulator {

struct Semaphore::Page {
  char magic[16];
  std::uint32_t version;
  std::uint32_t kind;
  std::atomic<std::uint64_t> value;
};

namespace {

constexpr std::size_t kBytes = 4096;
constexpr char kMagic[16] = "cuvmm-semaphore";
constexpr std::uint32_t kVersion = 1;
// Neither the size nor the seals may change under a mapping (SIGBUS); the counter stays writable.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

void* map_page(int fd) {
  void* at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? nullptr : at;
}

}  // namespace

int create_semaphore(SemaphoreKind kind, std::uint64_t initial) {
  const int fd = memfd_create("cuvmm-semaphore", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  struct {
    char magic[16];
    std::uint32_t version, kind;
    std::uint64_t value;
  } page{};
  std::memcpy(page.magic, kMagic, sizeof kMagic);
  page.version = kVersion;
  page.kind = static_cast<std::uint32_t>(kind);
  page.value = initial;
  if (!sys_resize(fd, kBytes) ||
      sys_pwrite(fd, &page, sizeof page, 0) != static_cast<ssize_t>(sizeof page) ||
      fcntl(fd, F_ADD_SEALS, kSeals) != 0) {
    sys_close(fd);
    return -1;
  }
  return fd;
}

std::shared_ptr<Semaphore> Semaphore::open(int fd, SemaphoreKind kind) {
  if (!is_fixed_memfd(fd)) return nullptr;
  struct stat status;
  if (fstat(fd, &status) != 0 || status.st_size != static_cast<off_t>(kBytes)) return nullptr;
  void* at = map_page(fd);
  if (!at) return nullptr;
  auto* page = static_cast<Page*>(at);
  std::shared_ptr<Semaphore> semaphore(new Semaphore(page, kind));
  const bool is_semaphore = std::memcmp(page->magic, kMagic, sizeof kMagic) == 0 &&
                            page->version == kVersion &&
                            page->kind == static_cast<std::uint32_t>(kind);
  return is_semaphore ? semaphore : nullptr;
}

Semaphore::~Semaphore() { munmap(page_, kBytes); }

void Semaphore::signal(std::uint64_t value) {
  if (kind_ == SemaphoreKind::kBinary) {
    page_->value.store(1);
  } else {
    std::uint64_t now = page_->value.load();
    while (now < value && !page_->value.compare_exchange_weak(now, value)) {
    }
  }
  sys_wake_all(page_->value);
}

bool Semaphore::try_wait(std::uint64_t value) {
  if (kind_ == SemaphoreKind::kTimeline) return page_->value.load() >= value;
  std::uint64_t signalled = 1;
  return page_->value.compare_exchange_strong(signalled, 0);
}

bool Semaphore::wait(std::uint64_t value, std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  constexpr Clock::duration kLookAgain = std::chrono::milliseconds(100);
  const auto end = Clock::now() + timeout;
  while (true) {
    const std::uint64_t seen = page_->value.load();
    if (try_wait(value)) return true;
    const auto left = end - Clock::now();
    if (left <= Clock::duration::zero()) return false;
    sys_wait_while(page_->value, seen, std::min(left, kLookAgain));
  }
}

}  // namespace cuvmm::emulator
