// SPDX-License-Identifier: Apache-2.0
// Writes a process's calls into an image, from any thread and any signal handler. The writer takes
// no lock, allocates nothing and makes no system call of its own.
#pragma once

#include <cstdint>
#include <span>

#include "recorder/last_calls/call_words.h"
#include "recorder/last_calls/format.h"
#include "recorder/shared_words.h"
#include "recorder/ticks.h"

namespace cuvmm::last_calls {

/// The state that a thread keeps for the writer. All 0 when the thread starts, and in a child of
/// fork.
struct ThreadPlace {
  std::uint32_t thread = 0;  ///< the kernel's number of the thread
  std::uint32_t place = 0;   ///< 1-based, in Image::threads; more than kThreads: no place was free
  std::uint64_t ticks =
      0;  ///< when its last call began (recorder::now_ticks()); 0: no call was recorded
};

/// An object that ended, or that lives.
struct Object {
  ObjectKind kind = ObjectKind::kUnknown;
  int device = -1;  ///< -1 unknown
  std::uint64_t base = 0;
  std::uint64_t size = 0;  ///< 0 unknown
  std::uint64_t made = 0;  ///< number of the call that made it; 0 unknown
  std::uint64_t ended = 0;
  /// The stack of the call that ended it, if the writer has this stack (note_stack()); 0: none.
  std::uint32_t stack = 0;
};

class Writer {
 public:
  constexpr Writer() = default;

  /// Starts to write into an image, which must be all 0 except for the header that the caller
  /// filled. The image must stay mapped.
  void start(Image* image) noexcept;
  Image* image() const noexcept { return __atomic_load_n(&image_, __ATOMIC_ACQUIRE); }
  /// Writes nothing from here on.
  void stop() noexcept { __atomic_store_n(&image_, nullptr, __ATOMIC_RELEASE); }

  /// Records a call before it is made. Returns its sequence, or 0 while the writer has no image.
  [[gnu::hot]] std::uint64_t begin(ThreadPlace& who, EntryPoint entry, const Words& words) noexcept;
  /// begin(), inlined for the calls that programs make in loops.
  [[gnu::always_inline]] inline std::uint64_t begin_here(ThreadPlace& who, EntryPoint entry,
                                                         const Words& words) noexcept;
  /// Records that the call returned; `result` is a CUresult or kUnwound. `sequence` is begin()'s
  /// value.
  [[gnu::hot]] void end(const ThreadPlace& who, std::uint64_t sequence,
                        std::uint32_t result) noexcept;
  /// The thread's call made physical memory; its call mapped or released some (ThreadSlot).
  void note_created(const ThreadPlace& who, std::uint64_t sequence) noexcept {
    if (ThreadSlot* const mine = slot_of(who)) recorder::store(mine->created, sequence);
  }
  void note_used(const ThreadPlace& who) noexcept {
    if (ThreadSlot* const mine = slot_of(who))
      recorder::store(mine->gone_on, recorder::load(mine->created));
  }
  /// The sequence of the calling thread's call that is in the driver; 0: none.
  std::uint64_t current(const ThreadPlace& who) const noexcept;

  /// Records that the thread's call, which began at `who.ticks`, ended an object. Inlined, so that
  /// no object is built only to be taken apart.
  [[gnu::always_inline]] inline void note_end(const ThreadPlace& who,
                                              const Object& object) noexcept;
  /// Whether the image has the stack; true for 0, which is no stack, and while there is no image.
  [[gnu::always_inline]] bool knows_stack(std::uint32_t number) const noexcept {
    const Image* const image = this->image();
    if (number == 0 || !image) return true;
    return __atomic_load_n(&image->stacks[number % kStacks].who, __ATOMIC_RELAXED) >> 16 == number;
  }
  /// Writes the stack into the image, in place of another one. `frames`: innermost first. The
  /// number means these frames as long as the image is written.
  [[gnu::cold]] void note_stack(std::uint32_t number,
                                std::span<const std::uintptr_t> frames) noexcept;

  // Record the state at the fault. Only the first caller of begin_fault() gets true.
  bool begin_fault(std::uint32_t result, std::uint64_t sequence) noexcept;
  void note_address(std::uint64_t address) noexcept;
  void note_signal(int signal) noexcept;
  void note_exit() noexcept;
  void note_live(const Object& object) noexcept;
  /// Keeps as much of /proc/self/maps as fits. Opens a descriptor and closes it again.
  void keep_maps() noexcept;

 private:
  ThreadSlot* slot_of(const ThreadPlace& who) const noexcept {
    Image* const image = this->image();
    return image && who.place - 1 < kThreads ? &image->threads[who.place - 1] : nullptr;
  }
  [[gnu::cold, gnu::noinline]] void choose_place(ThreadPlace& who) noexcept;
  // begin() for a call that needs more than its own record, or has no slot.
  [[gnu::cold, gnu::noinline]] std::uint64_t begin_rarely(Image& image, ThreadPlace& who,
                                                          EntryPoint entry, const Words& words,
                                                          std::uint64_t sequence) noexcept;
  [[gnu::cold, gnu::noinline]] void tune() noexcept;
  // Keeps the record of a call that has not returned, before the record of a newer call takes its
  // place.
  [[gnu::cold, gnu::noinline]] static void keep_waiting(Image& image,
                                                        const CallRecord& record) noexcept;

  Image* image_ = nullptr;
};

namespace detail {

// Writes the words of a record while check_of() reads them, so that no copy of the record is
// needed.
class Checked {
 public:
  Checked(std::uint64_t sequence, std::uint64_t ticks, std::uint64_t who)
      : who_(who), sum_(mixed(mixed(sequence, ticks), who)) {}
  void keep(std::uint64_t& place, std::uint64_t word) {
    sum_ = mixed(sum_, word);
    recorder::store(place, word);
  }
  std::uint64_t who() const { return who_ | fold(sum_); }

 private:
  std::uint64_t who_, sum_;
};

inline std::uint64_t tagged(std::uint64_t sequence, std::uint32_t result) noexcept {
  return sequence << 32 | result;
}

inline bool is_pending(const CallRecord& record) noexcept {
  return static_cast<std::uint32_t>(recorder::load(record.result)) == kPending;
}

// The clocks are compared seldom, but often enough at the start: at numbers with at most one bit
// among their last ten, which one test finds.
inline bool tunes(std::uint64_t sequence) noexcept {
  return (sequence & (sequence - 1)) % 1024 == 0;
}

inline std::uint64_t kind_bits(const Object& object) noexcept {
  const auto device = static_cast<std::uint64_t>(static_cast<unsigned char>(object.device + 1));
  return device << 24 | static_cast<std::uint64_t>(object.kind) << 16;
}

// Writes the record of a call that begins, at its place in `image`.
template <bool kHasSlot>
[[gnu::always_inline]] inline std::uint64_t put_call(Image& image, CallRecord* place,
                                                     ThreadPlace& who, EntryPoint entry,
                                                     const Words& words, std::uint64_t sequence,
                                                     std::uint64_t ticks) {
  using recorder::store;
  who.ticks = ticks;
  const std::uint64_t bits = std::uint64_t{who.thread} << 32 | static_cast<std::uint64_t>(entry)
                                                                   << 16;
  // The slot comes first, because a thread that replaces the record looks for its sequence there.
  if constexpr (kHasSlot) store(image.threads[who.place - 1].call, sequence);
  store(place->sequence, 0);
  recorder::fence(__ATOMIC_RELEASE);
  Checked checked(sequence, ticks, bits);
  store(place->ticks, ticks);
  static_assert(kWords == 4);
  checked.keep(place->words[0], words[0]);
  checked.keep(place->words[1], words[1]);
  checked.keep(place->words[2], words[2]);
  checked.keep(place->words[3], words[3]);
  store(place->who, checked.who());
  store(place->result, tagged(sequence, kPending));
  __atomic_store_n(&place->sequence, sequence, __ATOMIC_RELEASE);
  return sequence;
}

}  // namespace detail

inline std::uint64_t Writer::begin_here(ThreadPlace& who, EntryPoint entry,
                                        const Words& words) noexcept {
  Image* const image = this->image();
  if (!image) [[unlikely]]
    return 0;
  // The clock takes about 20 ns to answer, so it is asked first, and the other words do not wait.
  const std::uint64_t ticks = recorder::now_ticks();
  const std::uint64_t sequence = __atomic_add_fetch(&image->header.calls, 1, __ATOMIC_RELAXED);
  CallRecord* place = &image->calls[(sequence - 1) % kCalls];
  // One register for the address: GCC adds image and index in each store otherwise, in longer code.
  asm("" : "+r"(place));
  const bool has_slot = who.place - 1 < kThreads;
  if (!has_slot || detail::tunes(sequence) || detail::is_pending(*place)) [[unlikely]] {
    const Words copy = words;  // the hot path keeps its words in registers
    return begin_rarely(*image, who, entry, copy, sequence);
  }
  return detail::put_call<true>(*image, place, who, entry, words, sequence, ticks);
}

inline void Writer::note_end(const ThreadPlace& who, const Object& object) noexcept {
  using recorder::store;
  Image* const image = this->image();
  if (!image) [[unlikely]]
    return;
  const std::uint64_t sequence = __atomic_add_fetch(&image->header.ends, 1, __ATOMIC_RELAXED);
  const std::uint64_t ticks = who.ticks;  // a second look at the clock would cost 20 ns
  const std::uint64_t bits = std::uint64_t{who.thread} << 32 | detail::kind_bits(object);
  EndRecord& place = image->ends[(sequence - 1) % kEnds];
  const std::uint64_t call =
      who.place - 1 < kThreads ? recorder::load(image->threads[who.place - 1].call) : 0;
  store(place.sequence, 0);
  recorder::fence(__ATOMIC_RELEASE);
  detail::Checked checked(sequence, ticks, bits);
  store(place.ticks, ticks);
  checked.keep(place.base, object.base);
  checked.keep(place.size, object.size);
  checked.keep(place.made, object.made);
  checked.keep(place.ended,
               (object.ended & kNumberMask) | std::uint64_t{object.stack} << kNumberBits);
  checked.keep(place.call, call);
  store(place.who, checked.who());
  __atomic_store_n(&place.sequence, sequence, __ATOMIC_RELEASE);
}

}  // namespace cuvmm::last_calls
