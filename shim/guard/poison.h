// SPDX-License-Identifier: Apache-2.0
// Fills memory with a pattern, without waiting for the program's work.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <set>
#include <string>

#include "api/driver/driver.h"
#include "shim/base/owned_mutex.h"

namespace cuvmm::shim {

class Poison {
 public:
  /// The pattern of memory that the program has not written yet: not a number as a float of 16, 32
  /// or 64 bits, and negative as an integer.
  static constexpr std::uint32_t kNew = 0xfff5fff5;
  /// The pattern of memory that has ended.
  static constexpr std::uint32_t kEnded = 0xfffafffa;
  /// The bytes that are filled of each mapping on the emulator, whose memory is the machine's.
  static constexpr std::uint64_t kMostOnEmulator = std::uint64_t{16} << 20;

  Poison(const Driver& driver, bool emulated) : driver_(driver), emulated_(emulated) {}

  /// The device on which fill() would do its work: the current context's; -1: there is no current
  /// context.
  int device() const;
  /// Fills memory that the current context may write to, and waits for the end of the fill.
  void fill(std::uint64_t address, std::uint64_t size, std::uint32_t pattern) noexcept;
  /// Counts memory that is not filled, because the calling thread has no context that may write to
  /// it.
  void leave() noexcept { left_.fetch_add(1, std::memory_order_relaxed); }

  /// A stream begins to capture, or ends its capture.
  void capturing(CUstream stream);
  void captured(CUstream stream) noexcept;

  /// A sentence about memory that could not be filled; "" if there is none.
  std::string missing() const;
  std::uint64_t filled() const { return filled_.load(std::memory_order_relaxed); }

 private:
  CUresult fill_beside(std::uint64_t address, std::uint64_t size, std::uint32_t pattern) const;

  const Driver& driver_;
  const bool emulated_;
  OwnedMutex mutex_;
  std::multiset<CUstream> capturing_ CUVMM_GUARDED_BY(mutex_);
  std::atomic<std::size_t> captures_{0};
  std::atomic<std::uint64_t> filled_{0};  ///< bytes
  std::atomic<std::uint64_t> left_{0}, in_capture_{0}, refused_{0};
};

}  // namespace cuvmm::shim
