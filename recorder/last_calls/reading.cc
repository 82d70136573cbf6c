// SPDX-License-Identifier: Apache-2.0
#include "recorder/last_calls/reading.h"

#include <cuda.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "recorder/last_calls/call_words.h"
#include "recorder/recorded_file.h"
#include "recorder/shared_words.h"
#include "recorder/ticks.h"

namespace cuvmm::last_calls {

using recorder::fence;
using recorder::load;

namespace {

// Converts ticks to nanoseconds before the last moment.
class Clock {
 public:
  Clock(const recorder::FileHeader& header, const ClockPair* now)
      : last_ticks_(load(header.last.ticks)) {
    const std::uint64_t first_ticks = load(header.first.ticks);
    const std::uint64_t first_ns = load(header.first.monotonic_ns);
    const std::uint64_t last_ns = load(header.last.monotonic_ns);
    rate_ = {first_ticks, first_ns, last_ticks_, last_ns};
    if (rate_.known()) {
      lasted_ = last_ns - first_ns;
    } else if (now) {
      rate_ = {first_ticks, first_ns, now->ticks, now->ns};
    }
  }
  /// Moves the last moment to `ticks` where that is later.
  void reach(std::uint64_t ticks) {
    constexpr std::uint64_t kFar = std::uint64_t{1} << 62;
    if (ticks <= last_ticks_ || ticks - last_ticks_ > kFar) return;
    lasted_ += rate_.ns(ticks - last_ticks_);
    last_ticks_ = ticks;
  }
  std::uint64_t before(std::uint64_t ticks) const {
    return ticks < last_ticks_ ? rate_.ns(last_ticks_ - ticks) : 0;
  }
  std::uint64_t lasted() const { return lasted_; }

 private:
  std::uint64_t last_ticks_;
  recorder::TickRate rate_;
  std::uint64_t lasted_ = 0;
};

template <std::size_t N>
std::string text(const char (&place)[N]) {
  return {place, ::strnlen(place, N)};
}

// Copies a record. The sequence is 0 in the copy where the record changed meanwhile.
template <class Record>
Record copied(const Record& place) {
  static_assert(sizeof(Record) % sizeof(std::uint64_t) == 0);
  Record record;
  const auto* from = reinterpret_cast<const std::uint64_t*>(&place);
  auto* to = reinterpret_cast<std::uint64_t*>(&record);
  const std::uint64_t before = __atomic_load_n(&place.sequence, __ATOMIC_ACQUIRE);
  for (std::size_t i = 0; i < sizeof(Record) / sizeof *from; ++i) to[i] = load(from[i]);
  fence(__ATOMIC_ACQUIRE);
  if (before != load(place.sequence)) record.sequence = 0;
  return record;
}

template <class Record>
bool is_whole(const Record& record) {
  return record.sequence != 0 &&
         check_of(record, record.who & ~kCheckMask) == (record.who & kCheckMask);
}

CallSeen seen(const CallRecord& record, const Clock& clock) {
  CallSeen call;
  call.sequence = record.sequence;
  call.ns = clock.before(record.ticks);
  call.thread = static_cast<std::uint32_t>(record.who >> 32);
  call.entry = record.who >> 16 & 0xffff;
  std::copy(std::begin(record.words), std::end(record.words), call.words.begin());
  call.result = static_cast<std::uint32_t>(record.result);
  // The result belongs to another call where the halves of the sequence differ: a result and the
  // sequence it belongs to are written at once.
  const bool mine = record.result >> 32 == (record.sequence & 0xffffffff);
  call.end = !mine                     ? CallSeen::End::kUnknown
             : call.result == kPending ? CallSeen::End::kPending
             : call.result == kUnwound ? CallSeen::End::kUnwound
                                       : CallSeen::End::kReturned;
  return call;
}

ObjectKind kind_of(std::uint64_t who) {
  const std::uint64_t kind = who >> 16 & 0xff;
  const auto count = static_cast<std::uint64_t>(ObjectKind::kCount);
  return kind < count ? static_cast<ObjectKind>(kind) : ObjectKind::kUnknown;
}
int device_of(std::uint64_t who) { return static_cast<int>(who >> 24 & 0xff) - 1; }

class Reader {
 public:
  Reader(const Image& image, Reading& reading, const ClockPair* now)
      : image_(image), reading_(reading), clock_(image.header.file, now) {}

  void run() {
    header();
    rows();
    // The last moment must be known first, because all times are counted back from it.
    for (const CallRecord& place : image_.calls) reach(copied(place));
    for (const CallRecord& place : image_.waiting) reach(copied(place));
    for (const EndRecord& place : image_.ends) reach(copied(place));
    clock_.reach(load(image_.header.fault_ticks));
    reading_.lasted_ns = clock_.lasted();
    reading_.last_ns = load(image_.header.file.first.monotonic_ns) + clock_.lasted();
    reading_.fault_ns = clock_.before(load(image_.header.fault_ticks));
    calls();
    waiting();
    threads();
    ends();
    live();
    const std::uint64_t maps = std::min<std::uint64_t>(load(image_.header.maps_bytes), kMapsBytes);
    reading_.maps.assign(image_.maps, maps);
    // Where the text does not fit, its last line is incomplete.
    reading_.maps.resize(reading_.maps.rfind('\n') + 1);
  }

 private:
  template <class Record>
  void reach(const Record& record) {
    if (is_whole(record)) clock_.reach(record.ticks);
  }

  void header() {
    const Header& header = image_.header;
    const recorder::FileHeader& file = header.file;
    reading_.pid = static_cast<std::int64_t>(load(file.pid));
    reading_.run = {load(file.run_pid), load(file.run_start)};
    reading_.program = text(file.program);
    reading_.driver = text(file.driver);
    const std::uint64_t state = load(header.state);
    reading_.state = state > static_cast<std::uint64_t>(State::kSignal) ? State::kRunning
                                                                        : static_cast<State>(state);
    reading_.signal = static_cast<int>(load(header.signal) & 0x7f);
    reading_.total_calls = load(header.calls);
    reading_.total_ends = load(header.ends);
    reading_.realtime_ns = load(file.first_unix_ns);
    reading_.fault_result = static_cast<std::uint32_t>(load(header.fault_result));
    reading_.fault_call = load(header.fault_call);
    if (load(header.address_known) == 1) reading_.address = load(header.address);
  }

  void rows() {
    const std::size_t count = std::min<std::uint64_t>(load(image_.header.entries), kEntries);
    for (std::size_t i = 0; i < count; ++i) {
      const EntryRow& row = image_.entries[i];
      EntrySeen& entry = reading_.entries.emplace_back();
      entry.name = text(row.name);
      for (std::size_t w = 0; w < kWords && row.kinds[w] != WordKind::kNone; ++w) {
        entry.words.push_back(text(row.words[w]));
        entry.kinds.push_back(row.kinds[w]);
      }
    }
  }

  void calls() {
    const std::uint64_t total = reading_.total_calls;
    for (std::size_t i = 0; i < kCalls; ++i) {
      const CallRecord record = copied(image_.calls[i]);
      // Places that were never written do not count as torn.
      if (!is_whole(record) || (record.sequence - 1) % kCalls != i) {
        reading_.torn += i < total;
      } else {
        reading_.calls.push_back(seen(record, clock_));
      }
    }
    std::ranges::sort(reading_.calls, {}, &CallSeen::sequence);
    for (const CallSeen& call : reading_.calls) {
      if (call.end == CallSeen::End::kPending) reading_.pending.push_back(call);
    }
  }

  void threads() {
    for (const ThreadSlot& slot : image_.threads) {
      const std::uint64_t owner = load(slot.owner);
      if (owner != 0)
        reading_.threads.push_back({static_cast<std::uint32_t>(owner), load(slot.gone_on)});
    }
  }

  // Adds calls that have not returned and whose records newer calls have replaced.
  void waiting() {
    for (std::size_t i = 0; i < kThreads; ++i) {
      const CallRecord record = copied(image_.waiting[i]);
      if (!is_whole(record) || record.sequence != load(image_.threads[i].call)) continue;
      if (!reading_.call(record.sequence)) reading_.pending.push_back(seen(record, clock_));
    }
    std::ranges::sort(reading_.pending, {}, &CallSeen::sequence);
  }

  void ends() {
    for (std::size_t i = 0; i < kEnds; ++i) {
      const EndRecord record = copied(image_.ends[i]);
      if (!is_whole(record) || (record.sequence - 1) % kEnds != i) {
        reading_.torn += i < reading_.total_ends;
        continue;
      }
      EndSeen& end = reading_.ends.emplace_back();
      end.sequence = record.sequence;
      end.ns = clock_.before(record.ticks);
      end.thread = static_cast<std::uint32_t>(record.who >> 32);
      end.kind = kind_of(record.who);
      end.device = device_of(record.who);
      end.base = record.base;
      end.size = record.size;
      end.made = record.made;
      end.ended = record.ended & kNumberMask;
      end.call = record.call;
      end.frames = stack(record.ended >> kNumberBits);
    }
    std::ranges::sort(reading_.ends, {}, &EndSeen::sequence);
  }

  // Empty where a newer stack has taken the slot, or the process ended while it wrote the slot.
  std::vector<std::uint64_t> stack(std::uint64_t number) const {
    if (number == 0) return {};
    const StackSlot& place = image_.stacks[number % kStacks];
    StackSlot slot;
    slot.who = __atomic_load_n(&place.who, __ATOMIC_ACQUIRE);
    for (std::size_t i = 0; i < kFrames; ++i) slot.frames[i] = load(place.frames[i]);
    if (slot.who != (number << 16 | check_of(slot, number))) return {};
    std::vector<std::uint64_t> frames;
    for (const std::uint64_t frame : slot.frames) {
      if (frame != 0) frames.push_back(frame);
    }
    return frames;
  }

  void live() {
    const std::size_t count = std::min<std::uint64_t>(load(image_.header.live), kLive);
    reading_.live_total = load(image_.header.live_total);
    for (std::size_t i = 0; i < count; ++i) {
      const LiveRecord& place = image_.live[i];
      const std::uint64_t who = load(place.who);
      reading_.live.push_back(
          {kind_of(who), device_of(who), load(place.base), load(place.size), load(place.made)});
    }
    std::ranges::sort(reading_.live, {}, &LiveSeen::base);
  }

  const Image& image_;
  Reading& reading_;
  Clock clock_;
};

}  // namespace

const char* name(ObjectKind kind) {
  constexpr const char* kNames[] = {
      "object", "reservation", "mapping",          "allocation",      "memory",
      "pool",   "pool memory", "ipc-memory",       "external memory", "external buffer",
      "guard",  "guard",       "freed reservation"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(ObjectKind::kCount));
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(kNames) ? kNames[index] : kNames[0];
}

const CallSeen* Reading::call(std::uint64_t sequence) const {
  const auto found = std::ranges::lower_bound(calls, sequence, {}, &CallSeen::sequence);
  return found != calls.end() && found->sequence == sequence ? &*found : nullptr;
}

std::string read_image(std::span<const std::byte> bytes, Reading& reading, const ClockPair* now) {
  reading = {};
  const recorder::Refusal refusal = recorder::judge_header(bytes, kShape);
  if (refusal.kind != recorder::Refusal::Kind::kNone) return refusal.text;
  if (bytes.size() < sizeof(Image)) {
    return "it is cut off: " + std::to_string(bytes.size()) + " of " +
           std::to_string(sizeof(Image)) + " bytes are there";
  }
  Reader(*reinterpret_cast<const Image*>(bytes.data()), reading, now).run();
  return "";
}

ClockPair this_clock_pair() noexcept {
  const std::uint64_t ticks = recorder::now_ticks();
  return {ticks, recorder::clock_ns(CLOCK_MONOTONIC)};
}

std::string read_file(const std::string& path, Reading& reading, const ClockPair* now) {
  reading = {};
  recorder::RecordedFile file;
  const recorder::Refusal refusal =
      file.open(path, kShape, recorder::RecordedFile::Named::kByPerson);
  if (refusal.kind != recorder::Refusal::Kind::kNone) return refusal.text;
  const auto image = std::make_unique<Image>();
  if (!file.read(image.get(), sizeof(Image), 0)) return "it ends too early";
  return read_image({reinterpret_cast<const std::byte*>(image.get()), sizeof(Image)}, reading, now);
}

bool is_fault(std::uint32_t result) noexcept {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_LAUNCH_FAILED:
      return true;
    default:
      return false;
  }
}

}  // namespace cuvmm::last_calls
