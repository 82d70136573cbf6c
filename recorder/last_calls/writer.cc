// SPDX-License-Identifier: Apache-2.0
#include "recorder/last_calls/writer.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "recorder/new_file.h"
#include "recorder/shared_words.h"
#include "recorder/ticks.h"

namespace cuvmm::last_calls {

using detail::kind_bits;
using detail::tagged;
using recorder::fence;
using recorder::load;
using recorder::now_ticks;
using recorder::store;

namespace {

std::uint64_t add_one(std::uint64_t& word) noexcept {
  return __atomic_add_fetch(&word, 1, __ATOMIC_RELAXED);
}

// The sequence is 0 while the other words change, and is written last.
void put(CallRecord& place, const CallRecord& record) noexcept {
  store(place.sequence, 0);
  fence(__ATOMIC_RELEASE);
  store(place.ticks, record.ticks);
  store(place.who, record.who);
  for (std::size_t i = 0; i < kWords; ++i) store(place.words[i], record.words[i]);
  store(place.result, record.result);
  __atomic_store_n(&place.sequence, record.sequence, __ATOMIC_RELEASE);
}

// Whether a thread of this process has ended.
bool has_ended(std::uint64_t thread) noexcept {
  const int saved = errno;
  const bool ended = ::syscall(SYS_tgkill, ::getpid(), thread, 0) != 0 && errno == ESRCH;
  errno = saved;
  return ended;
}

}  // namespace

void Writer::start(Image* image) noexcept {
  Header& header = image->header;
  recorder::begin_header(header.file, kShape);
  header.entries = static_cast<std::uint64_t>(EntryPoint::kCount);
  __atomic_store_n(&header.file.magic, recorder::kMagic, __ATOMIC_RELEASE);
  __atomic_store_n(&image_, image, __ATOMIC_RELEASE);
}

std::uint64_t Writer::begin(ThreadPlace& who, EntryPoint entry, const Words& words) noexcept {
  return begin_here(who, entry, words);
}

std::uint64_t Writer::begin_rarely(Image& image, ThreadPlace& who, EntryPoint entry,
                                   const Words& words, std::uint64_t sequence) noexcept {
  if (who.place == 0) choose_place(who);
  if (detail::tunes(sequence)) tune();
  CallRecord& place = image.calls[(sequence - 1) % kCalls];
  if (detail::is_pending(place)) keep_waiting(image, place);
  return who.place <= kThreads
             ? detail::put_call<true>(image, &place, who, entry, words, sequence, now_ticks())
             : detail::put_call<false>(image, &place, who, entry, words, sequence, now_ticks());
}

void Writer::end(const ThreadPlace& who, std::uint64_t sequence, std::uint32_t result) noexcept {
  Image* const image = this->image();
  if (!image || sequence == 0) [[unlikely]]
    return;
  // The next call's record has left the caches since it was written, so ask for it before that
  // call.
  __builtin_prefetch(&image->calls[sequence % kCalls], 1);
  CallRecord& record = image->calls[(sequence - 1) % kCalls];
  if (load(record.sequence) == sequence) [[likely]]
    store(record.result, tagged(sequence, result));
  if (who.place - 1 >= kThreads) [[unlikely]]
    return;  // it has no slot; 0 wraps around
  std::uint64_t& mine = image->threads[who.place - 1].call;
  if (load(mine) == sequence) [[likely]]
    store(mine, 0);
}

void Writer::keep_waiting(Image& image, const CallRecord& record) noexcept {
  CallRecord copy;
  copy.sequence = load(record.sequence);
  copy.ticks = load(record.ticks);
  copy.who = load(record.who);
  for (std::size_t i = 0; i < kWords; ++i) copy.words[i] = load(record.words[i]);
  copy.result = tagged(copy.sequence, kPending);
  if (copy.sequence == 0) return;
  for (std::size_t i = 0; i < kThreads; ++i) {
    if (load(image.threads[i].call) == copy.sequence) return put(image.waiting[i], copy);
  }
}

std::uint64_t Writer::current(const ThreadPlace& who) const noexcept {
  if (!image_ || who.place == 0 || who.place > kThreads) return 0;
  return load(image_->threads[who.place - 1].call);
}

// Two threads, or a signal handler and its thread, may write one slot at once: then the check does
// not fit the mixture, and no reader takes the mixture for a stack.
void Writer::note_stack(std::uint32_t number, std::span<const std::uintptr_t> frames) noexcept {
  Image* const image = this->image();
  if (!image || number == 0) return;
  StackSlot& slot = image->stacks[number % kStacks];
  store(slot.who, 0);
  fence(__ATOMIC_RELEASE);
  StackSlot now{};
  std::copy_n(frames.begin(), std::min(frames.size(), kFrames), now.frames);
  for (std::size_t i = 0; i < kFrames; ++i) store(slot.frames[i], now.frames[i]);
  __atomic_store_n(&slot.who, std::uint64_t{number} << 16 | check_of(now, number),
                   __ATOMIC_RELEASE);
}

bool Writer::begin_fault(std::uint32_t result, std::uint64_t sequence) noexcept {
  Image* const image = this->image();
  if (!image) return false;
  std::uint64_t none = 0;
  if (!__atomic_compare_exchange_n(&image->header.fault_result, &none, std::uint64_t{result}, false,
                                   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    return false;
  }
  tune();
  store(image->header.fault_ticks, now_ticks());
  store(image->header.fault_call, sequence);
  return true;
}

void Writer::note_address(std::uint64_t address) noexcept {
  if (!image_) return;
  store(image_->header.address, address);
  store(image_->header.address_known, 1);
}

void Writer::note_signal(int signal) noexcept {
  if (!image_) return;
  tune();
  store(image_->header.signal, static_cast<std::uint64_t>(signal));
  store(image_->header.state, static_cast<std::uint64_t>(State::kSignal));
}

void Writer::note_exit() noexcept {
  if (image_) store(image_->header.state, static_cast<std::uint64_t>(State::kExited));
}

void Writer::note_live(const Object& object) noexcept {
  if (!image_) return;
  const std::uint64_t number = add_one(image_->header.live_total);
  if (number > kLive) return;
  LiveRecord& place = image_->live[number - 1];
  store(place.base, object.base);
  store(place.size, object.size);
  store(place.made, object.made);
  store(place.who, kind_bits(object));
  store(image_->header.live, number);
}

void Writer::keep_maps() noexcept {
  if (!image_) return;
  const int saved = errno;
  const auto fd =
      static_cast<int>(::syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0));
  std::size_t used = 0;
  while (fd >= 0 && used < kMapsBytes) {
    const long got = ::syscall(SYS_read, fd, image_->maps + used, kMapsBytes - used);
    if (got <= 0) break;
    used += static_cast<std::size_t>(got);
    store(image_->header.maps_bytes, used);
  }
  if (fd >= 0) ::syscall(SYS_close, fd);
  errno = saved;
}

void Writer::choose_place(ThreadPlace& who) noexcept {
  who.thread = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  who.place = kThreads + 1;
  for (const bool from_dead : {false, true}) {
    for (std::size_t i = 0; i < kThreads; ++i) {
      std::uint64_t& owner = image_->threads[i].owner;
      std::uint64_t before = load(owner);
      if (from_dead ? !has_ended(before) : before != 0) continue;
      if (!__atomic_compare_exchange_n(&owner, &before, std::uint64_t{who.thread}, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        continue;
      }
      who.place = static_cast<std::uint32_t>(i) + 1;
      store(image_->threads[i].created, 0);
      store(image_->threads[i].gone_on, 0);
      return;
    }
  }
}

void Writer::tune() noexcept { recorder::note_moment(image_->header.file); }

}  // namespace cuvmm::last_calls
