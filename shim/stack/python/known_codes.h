// SPDX-License-Identifier: Apache-2.0
// Code objects of CPython that a thread has met lately: their names need not be read again.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cuvmm::shim {

/// A code object, and the facts that were read from it.
struct alignas(64) KnownCode {
  std::uintptr_t code;  ///< its address; 0: the entry is empty
  // Facts that distinguish it from another code object that had, or gets, its address.
  std::uintptr_t file, name, lines;
  std::uint64_t hashes;  ///< of both names; 0 if `version` is enough
  std::uint32_t version, first_line;
  // Read from the code object.
  std::uint64_t number;  ///< a part of PythonPlace::key
  std::int64_t units;    ///< the code's number of units

  bool same(const KnownCode& other) const noexcept {
    return code == other.code && version == other.version && first_line == other.first_line &&
           file == other.file && name == other.name && lines == other.lines &&
           hashes == other.hashes;
  }
};
static_assert(sizeof(KnownCode) == 64);  // a cache line for each function of a stack

/// Used by one thread and the signal handlers that interrupt it: while an entry is written or
/// forgotten, a handler finds nothing and stores nothing. (A handler that jumps out of there ends
/// all use of the object.) An object of zero bytes knows no code object.
class KnownCodes {
 public:
  /// The entry for the code object that was at this address, or null. A handler may overwrite the
  /// entry, so the caller first reads the facts, then calls `same`, with a signal fence between.
  const KnownCode* find(std::uintptr_t code) const noexcept {
    if (busy_) return nullptr;
    for (std::size_t i = 0; i < kTries; ++i) {
      const KnownCode& entry = entries_[(first(code) + i) % kEntries];
      if (entry.code == code) return &entry;
    }
    return nullptr;
  }

  /// Stores the facts in the entry of that address, else in a free entry, else in the first.
  void keep(const KnownCode& known) noexcept {
    if (busy_) return;
    const Busy busy(*this);
    KnownCode& entry = place_for(known.code);
    entry = known;
  }

  void forget() noexcept {
    if (busy_) return;
    const Busy busy(*this);
    entries_ = {};
  }

 private:
  static constexpr std::size_t kEntries = 256, kTries = 4;

  struct Busy {
    explicit Busy(KnownCodes& codes) noexcept : codes_(codes) {
      codes_.busy_ = true;
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    ~Busy() {
      std::atomic_signal_fence(std::memory_order_seq_cst);
      codes_.busy_ = false;
    }
    KnownCodes& codes_;
  };

  static std::size_t first(std::uintptr_t code) noexcept {
    return (code * 0x9e3779b97f4a7c15u) >> 56;
  }
  static_assert(kEntries == 256);

  KnownCode& place_for(std::uintptr_t code) noexcept {
    KnownCode* free = nullptr;
    for (std::size_t i = 0; i < kTries; ++i) {
      KnownCode& entry = entries_[(first(code) + i) % kEntries];
      if (entry.code == code) return entry;
      if (entry.code == 0 && !free) free = &entry;
    }
    return free ? *free : entries_[first(code)];
  }

  std::array<KnownCode, kEntries> entries_;
  volatile bool busy_;
};

}  // namespace cuvmm::shim
