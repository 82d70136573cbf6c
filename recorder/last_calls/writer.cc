// SPDX-License-Identifier: Apache-2.0
#include "recorder/last_calls/writer.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cuvmm::last_calls {

namespace {

std::uint64_t clock_ns(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t add_one(std::uint64_t& word) noexcept {
  return __atomic_add_fetch(&word, 1, __ATOMIC_RELAXED);
}

std::uint64_t tagged(std::uint64_t sequence, std::uint32_t result) noexcept {
  return sequence << 32 | result;
}

// The sequence is 0 while the rest changes, and comes last.
void put(CallRecord& place, const CallRecord& record) noexcept {
  store(place.sequence, 0);
  fence(__ATOMIC_RELEASE);
  store(place.ticks, record.ticks);
  store(place.who, record.who);
  for (std::size_t i = 0; i < kWords; ++i) store(place.words[i], record.words[i]);
  store(place.result, record.result);
  __atomic_store_n(&place.sequence, record.sequence, __ATOMIC_RELEASE);
}

std::uint64_t kind_bits(const Object& object) noexcept {
  const auto device = static_cast<std::uint64_t>(static_cast<unsigned char>(object.device + 1));
  return device << 24 | static_cast<std::uint64_t>(object.kind) << 16;
}

// Whether a thread of this process is no more.
bool is_gone(std::uint32_t thread) noexcept {
  const int saved = errno;
  const bool gone = ::syscall(SYS_tgkill, ::getpid(), thread, 0) != 0 && errno == ESRCH;
  errno = saved;
  return gone;
}

}  // namespace

void Writer::start(Image* image) noexcept {
  Header& header = image->header;
  header.first_ticks = header.last_ticks = now_ticks();
  header.first_ns = header.last_ns = clock_ns(CLOCK_MONOTONIC);
  header.first_realtime_ns = clock_ns(CLOCK_REALTIME);
  header.pid = static_cast<std::uint64_t>(::getpid());
  header.version = kVersion;
  header.file_bytes = sizeof(Image);
  header.entries = static_cast<std::uint64_t>(EntryPoint::kCount);
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  __atomic_store_n(&image_, image, __ATOMIC_RELEASE);
}

std::uint64_t Writer::begin(ThreadPlace& who, EntryPoint entry, const Words& words) noexcept {
  Image* const image = this->image();
  if (!image) return 0;
  if (who.place == 0) [[unlikely]]
    choose_place(who);
  const std::uint64_t sequence = add_one(image->header.calls);
  // Seldom, and often enough at the start.
  if ((sequence & (sequence - 1)) == 0 || sequence % 1024 == 0) [[unlikely]]
    tune();
  CallRecord record;
  record.sequence = sequence;
  record.ticks = who.ticks = now_ticks();
  for (std::size_t i = 0; i < kWords; ++i) record.words[i] = words[i];
  record.result = tagged(sequence, kPending);
  const std::uint64_t bits = std::uint64_t{who.thread} << 32 | static_cast<std::uint64_t>(entry)
                                                                   << 16;
  record.who = bits | check_of(record, bits);
  put(image->calls[(sequence - 1) % kCalls], record);
  if (who.place <= kThreads) put(image->current[who.place - 1], record);
  return sequence;
}

void Writer::end(const ThreadPlace& who, std::uint64_t sequence, std::uint32_t result) noexcept {
  Image* const image = this->image();
  if (!image || sequence == 0) return;
  CallRecord& record = image->calls[(sequence - 1) % kCalls];
  if (load(record.sequence) == sequence) store(record.result, tagged(sequence, result));
  if (who.place == 0 || who.place > kThreads) return;
  CallRecord& mine = image->current[who.place - 1];
  if (load(mine.sequence) == sequence) store(mine.sequence, 0);
}

std::uint64_t Writer::current(const ThreadPlace& who) const noexcept {
  if (!image_ || who.place == 0 || who.place > kThreads) return 0;
  return load(image_->current[who.place - 1].sequence);
}

void Writer::note_end(const ThreadPlace& who, const Object& object) noexcept {
  Image* const image = this->image();
  if (!image) return;
  EndRecord record{};
  record.sequence = add_one(image->header.ends);
  record.ticks = now_ticks();
  record.base = object.base;
  record.size = object.size;
  record.made = object.made;
  record.ended = object.ended;
  record.call = current(who);
  for (std::size_t i = 0; i < kFrames && i < object.frames.size(); ++i) {
    record.frames[i] = object.frames[i];
  }
  const std::uint64_t bits = std::uint64_t{who.thread} << 32 | kind_bits(object);
  record.who = bits | check_of(record, bits);

  EndRecord& place = image->ends[(record.sequence - 1) % kEnds];
  store(place.sequence, 0);
  fence(__ATOMIC_RELEASE);
  store(place.ticks, record.ticks);
  store(place.who, record.who);
  store(place.base, record.base);
  store(place.size, record.size);
  store(place.made, record.made);
  store(place.ended, record.ended);
  store(place.call, record.call);
  for (std::size_t i = 0; i < kFrames; ++i) store(place.frames[i], record.frames[i]);
  __atomic_store_n(&place.sequence, record.sequence, __ATOMIC_RELEASE);
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
      std::uint32_t& owner = image_->header.owners[i];
      std::uint32_t before = __atomic_load_n(&owner, __ATOMIC_RELAXED);
      if (from_dead ? !is_gone(before) : before != 0) continue;
      if (!__atomic_compare_exchange_n(&owner, &before, who.thread, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED)) {
        continue;
      }
      who.place = static_cast<std::uint32_t>(i) + 1;
      return;
    }
  }
}

void Writer::tune() noexcept {
  Header& header = image_->header;
  const std::uint64_t ticks = now_ticks();
  store(header.last_ns, clock_ns(CLOCK_MONOTONIC));
  store(header.last_ticks, ticks);
}

}  // namespace cuvmm::last_calls
