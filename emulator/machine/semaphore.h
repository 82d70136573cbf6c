// SPDX-License-Identifier: Apache-2.0
// A semaphore that two processes share through a descriptor: a sealed memfd of one page with a
// counter in it. It stands for what vkGetSemaphoreFdKHR exports; the emulator has no Vulkan, so
// tests make their own.
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

/// An open semaphore. Whoever else holds the page may write anything into it: no value of it is
/// trusted to be more than a number.
class Semaphore {
 public:
  /// Checks everything about `fd`, whose every byte may come from a hostile process, and maps it;
  /// null when it is not what create_semaphore made, or of another kind. Does not keep `fd`.
  static std::shared_ptr<Semaphore> open(int fd, SemaphoreKind kind);
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;
  ~Semaphore();

  SemaphoreKind kind() const { return kind_; }
  /// `value` means nothing to a binary semaphore. A timeline never goes down.
  void signal(std::uint64_t value);
  /// Waits for a signal, or until a timeline has reached `value`; false after `timeout`.
  bool wait(std::uint64_t value, std::chrono::milliseconds timeout);
  /// Takes the signal if it is there.
  bool try_wait(std::uint64_t value);

 private:
  struct Page;
  Semaphore(Page* page, SemaphoreKind kind) : page_(page), kind_(kind) {}

  Page* page_;
  SemaphoreKind kind_;
};

}  // namespace cuvmm::emulator
