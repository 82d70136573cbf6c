// SPDX-License-Identifier: Apache-2.0
// Writes what a process does into an image: without locks, memory or system calls of its own, from
// any thread and any signal handler.
#pragma once

#include <cstdint>
#include <span>

#include "recorder/last_calls/call_words.h"
#include "recorder/last_calls/format.h"

namespace cuvmm::last_calls {

/// What a thread keeps for the writer. All 0 at its start, and in a child of fork.
struct ThreadPlace {
  std::uint32_t thread = 0;  ///< the kernel's number of it
  std::uint32_t place = 0;   ///< 1-based, in Image::threads; more than kThreads: none was free
  std::uint64_t ticks = 0;   ///< when its last call began (recorder::now_ticks()); 0: none was kept
};

/// An object that ended, or that lives.
struct Object {
  ObjectKind kind = ObjectKind::kUnknown;
  int device = -1;  ///< -1 unknown
  std::uint64_t base = 0;
  std::uint64_t size = 0;  ///< 0 unknown
  std::uint64_t made = 0;  ///< number of the call; 0 unknown
  std::uint64_t ended = 0;
  std::span<const std::uintptr_t> frames{};  ///< of the call that ended it
};

class Writer {
 public:
  constexpr Writer() = default;

  /// Starts an image, which is all 0 but for what the caller wrote of the process. The image stays.
  void start(Image* image) noexcept;
  Image* image() const noexcept { return __atomic_load_n(&image_, __ATOMIC_ACQUIRE); }
  /// Nothing is written from here on.
  void stop() noexcept { __atomic_store_n(&image_, nullptr, __ATOMIC_RELEASE); }

  /// A call is about to be made. Returns its sequence, 0 while there is no image.
  std::uint64_t begin(ThreadPlace& who, EntryPoint entry, const Words& words) noexcept;
  /// It returned: a CUresult, or kUnwound. `sequence` is what begin() gave.
  void end(const ThreadPlace& who, std::uint64_t sequence, std::uint32_t result) noexcept;
  /// The calling thread's call, which is in the driver; 0: none.
  std::uint64_t current(const ThreadPlace& who) const noexcept;

  /// An object ended by the calling thread's call.
  void note_end(const ThreadPlace& who, const Object& object) noexcept;

  // What is known at the fault. The first caller of begin_fault() alone gets true.
  bool begin_fault(std::uint32_t result, std::uint64_t sequence) noexcept;
  void note_address(std::uint64_t address) noexcept;
  void note_signal(int signal) noexcept;
  void note_exit() noexcept;
  void note_live(const Object& object) noexcept;
  /// Keeps /proc/self/maps, as much as there is room for. Opens a descriptor for the time.
  void keep_maps() noexcept;

 private:
  [[gnu::cold, gnu::noinline]] void choose_place(ThreadPlace& who) noexcept;
  [[gnu::cold, gnu::noinline]] void tune() noexcept;
  // Before another call's record takes the place of this one, which has not returned.
  [[gnu::cold, gnu::noinline]] static void keep_waiting(Image& image,
                                                        const CallRecord& record) noexcept;

  Image* image_ = nullptr;
};

}  // namespace cuvmm::last_calls
