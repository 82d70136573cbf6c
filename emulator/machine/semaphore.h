// SPDX-License-Identifier: Apache-2.0
// A semaphore that two processes share through a descriptor: a sealed memfd of one page with a
// counter in it. The file stands in for an export by vkGetSemaphoreFdKHR; the emulator has no
// Vulkan, so tests create the file themselves.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

namespace cuvmm::emulator {

enum class SemaphoreKind : std::uint32_t {
  kBinary = 1,    ///< one wait per signal
  kTimeline = 9,  ///< a value that only goes up
};

/// A new descriptor; -1 on failure. A binary semaphore starts unsignalled.
int create_semaphore(SemaphoreKind kind, std::uint64_t initial = 0);

/// An open semaphore. Another process that has the page may write any value into it: the code
/// trusts no value to be more than a number.
class Semaphore {
 public:
  /// Checks every property of `fd`, because a hostile process may have chosen every byte, and maps
  /// it; null when create_semaphore did not make it, or when it is of another kind. Does not take
  /// `fd` over.
  static std::shared_ptr<Semaphore> open(int fd, SemaphoreKind kind);
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;
  ~Semaphore();

  SemaphoreKind kind() const { return kind_; }
  /// `value` means nothing to a binary semaphore. The value of a timeline never falls.
  void signal(std::uint64_t value);
  /// Waits for a signal, or until a timeline has reached `value`; false after `timeout`.
  bool wait(std::uint64_t value, std::chrono::milliseconds timeout);
  /// Takes the signal if the semaphore is signalled.
  bool try_wait(std::uint64_t value);

 private:
  struct Page;
  Semaphore(Page* page, SemaphoreKind kind) : page_(page), kind_(kind) {}

  Page* page_;
  SemaphoreKind kind_;
};

}  // namespace cuvmm::emulator
