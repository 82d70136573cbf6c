// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/python/walk.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "shim/stack/python/text.h"

namespace cuvmm::shim {

namespace {

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

// The range of offsets of all members that are read: one question to the kernel tells whether they
// can be.
class Extent {
 public:
  void add(std::size_t offset, std::size_t size) {
    if (offset == PythonLayout::kNowhere) return;
    low_ = std::min(low_, offset);
    high_ = std::max(high_, offset + size);
  }
  bool readable(GuardedMemory& memory, std::uintptr_t object) const {
    return memory.readable(object + low_, high_ - low_);
  }
  // Whether the whole range lies on the page on which the range of `other`, which could be read,
  // begins.
  bool on_page_of(std::uintptr_t object, std::uintptr_t other) const {
    return GuardedMemory::on_one_page(object + low_, other + low_) &&
           GuardedMemory::on_one_page(object + low_, object + high_ - 1);
  }

 private:
  std::size_t low_ = PythonLayout::kNowhere, high_ = 0;
};

class Reader {
 public:
  Reader(const PythonInterpreter& python, GuardedMemory& memory, KnownCodes* codes)
      : python_(python),
        layout_(python.layout),
        memory_(memory),
        codes_(layout_.code.version == PythonLayout::kNowhere ? nullptr : codes) {
    constexpr std::size_t kWord = sizeof(std::uintptr_t);
    const auto& frame = layout_.frame;
    const auto& code = layout_.code;
    for (const std::size_t at : {frame.code, frame.previous, frame.instruction}) {
      frame_extent_.add(at, kWord);
    }
    for (const std::size_t at : {frame.owner, frame.is_entry}) frame_extent_.add(at, 1);
    for (const std::size_t at : {code.filename, code.name, code.lines, PythonLayout::kObjectType,
                                 PythonLayout::kObjectSize}) {
      code_extent_.add(at, kWord);
    }
    for (const std::size_t at : {code.first_line, code.version}) {
      code_extent_.add(at, sizeof(std::uint32_t));
    }
  }

  // `frame` becomes null if the thread has no frame. False if the memory cannot be read; `frame`
  // becomes null as well if the state is another thread's.
  bool innermost(std::uintptr_t state, std::uintptr_t& frame) {
    const auto& at = layout_.thread;
    unsigned long owner = 0;
    if (!memory_.read(state + at.thread_id, owner) || !memory_.read(state + at.frame, frame))
      return false;
    if (owner != ::pthread_self()) {
      frame = 0;  // the program moves this state between threads
      return true;
    }
    if (at.cframe_frame == PythonLayout::kNowhere || frame == 0) return true;
    return memory_.read(frame + at.cframe_frame, frame);
  }

  // Whether the frame can be read by the functions below. `before`: a frame that can be read, or 0.
  bool there(std::uintptr_t frame, std::uintptr_t before) {
    return (before != 0 && frame_extent_.on_page_of(frame, before)) ||
           frame_extent_.readable(memory_, frame);
  }

  std::uintptr_t previous(std::uintptr_t frame) const {
    return word(frame + layout_.frame.previous);
  }

  // Whether the frame stands for the interpreter's own code, between two of its loops.
  bool is_shim(std::uintptr_t frame) const {
    return layout_.frame.owner != PythonLayout::kNowhere &&
           byte(frame + layout_.frame.owner) >= PythonLayout::kFirstShim;
  }

  bool place(std::uintptr_t frame, PythonPlace& place) {
    const auto& at = layout_.frame;
    constexpr std::uintptr_t kTags = 7;
    place.code = word(frame + at.code) & ~kTags;
    place.entry = at.is_entry != PythonLayout::kNowhere ? byte(frame + at.is_entry) != 0
                                                        : at.owner == PythonLayout::kNowhere;
    // Not looked up again for a function that calls itself.
    if (place.code != code_ && !recall(place.code) && !describe(place.code)) return false;
    if (!instruction(frame, place)) return false;
    place.key = mix(number_, static_cast<std::uint64_t>(place.entry) << 32 |
                                 static_cast<std::uint32_t>(place.instruction));
    return true;
  }

 private:
  static std::uintptr_t word(std::uintptr_t at) { return GuardedMemory::at<std::uintptr_t>(at); }
  static std::uint8_t byte(std::uintptr_t at) { return GuardedMemory::at<std::uint8_t>(at); }

  bool instruction(std::uintptr_t frame, PythonPlace& place) const {
    constexpr std::int64_t kLongest = std::int64_t{1} << 28;
    const std::uintptr_t at = frame + layout_.frame.instruction;
    if (layout_.code.bytecode == PythonLayout::kNowhere) {
      const auto number = GuardedMemory::at<std::int32_t>(at);
      if (number > kLongest) return false;
      place.instruction = number < 0 ? 0 : number * layout_.instruction_unit;
      return true;
    }
    constexpr std::int64_t kUnit = 2, kBeforeTheFirst = -kUnit;
    const auto distance =
        static_cast<std::int64_t>(word(at) - (place.code + layout_.code.bytecode));
    if (units_ <= 0 || units_ > kLongest || distance < kBeforeTheFirst ||
        distance >= units_ * kUnit)
      return false;
    place.instruction = distance < 0 ? 0 : static_cast<std::int32_t>(distance);
    return true;
  }

  // Reads the facts that distinguish the code object at `code.code`, which can be read, from
  // another one with its address.
  void identify(KnownCode& code) const {
    const auto& at = layout_.code;
    code.file = word(code.code + at.filename);
    code.name = word(code.code + at.name);
    code.lines = word(code.code + at.lines);
    code.first_line = GuardedMemory::at<std::uint32_t>(code.code + at.first_line);
    code.version = at.version == PythonLayout::kNowhere
                       ? 0
                       : GuardedMemory::at<std::uint32_t>(code.code + at.version);
    code.hashes = 0;
  }

  // Hashes both names, which can be read. False: a name's hash is not computed yet.
  bool hash(KnownCode& code) const {
    if (layout_.code.version_of_process) return true;
    constexpr std::uint64_t kNone = ~std::uint64_t{0};
    const auto file = word(code.file + PythonLayout::kStringHash);
    const auto name = word(code.name + PythonLayout::kStringHash);
    code.hashes = mix(file, name);
    return file != kNone && name != kNone;
  }

  // Recalls the facts that were read from this code object before. Its memory, and that of its
  // names, can still be read.
  bool recall(std::uintptr_t code) {
    const KnownCode* const known = codes_ ? codes_->find(code) : nullptr;
    if (!known) return false;
    const std::uint64_t number = known->number;
    const std::int64_t units = known->units;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    KnownCode now;
    now.code = code;
    identify(now);
    // If the names are others, nothing is known about their memory.
    if (now.file != known->file || now.name != known->name || !hash(now) || !now.same(*known))
      return false;
    code_ = code;
    number_ = number;
    units_ = units;
    return true;
  }

  // A program that compiles and drops code gets equal addresses again: so the names are part of the
  // number.
  bool describe(std::uintptr_t code) {
    if (!code_extent_.readable(memory_, code) ||
        word(code + PythonLayout::kObjectType) != python_.code_type)
      return false;
    KnownCode found;
    found.code = code;
    identify(found);
    if (found.file != file_) {  // in most cases it is the file of the function before
      if (!fingerprint(found.file, file_number_)) return false;
      file_ = found.file;
    }
    std::uint64_t name_number = 0;
    if (!fingerprint(found.name, name_number)) return false;
    // Each number is multiplied by an odd factor of its own, because their sum is mixed only once.
    found.number = code * 0xd6e8feb86659fd93u + found.lines * 0xa0761d6478bd642fu +
                   found.first_line * 0xe7037ed1a0b428dbu + file_number_ * 0x8ebc6af09c88c6e3u +
                   name_number * 0x589965cc75374cc3u;
    found.units = static_cast<std::int64_t>(word(code + PythonLayout::kObjectSize));
    if (codes_ && found.version != 0 && hash(found)) codes_->keep(found);
    code_ = code;
    number_ = found.number;
    units_ = found.units;
    return true;
  }

  bool fingerprint(std::uintptr_t object, std::uint64_t& number) {
    return PythonText::fingerprint(memory_, object, python_.string_type, layout_.ascii_size,
                                   number);
  }

  const PythonInterpreter& python_;
  const PythonLayout layout_;  // a copy, so that writes in between cannot change it
  GuardedMemory& memory_;
  KnownCodes* const codes_;  // null: no number identifies this version's code objects
  Extent frame_extent_, code_extent_;
  static constexpr std::uintptr_t kNoCode = 1;  // no object has this address
  std::uintptr_t code_ = kNoCode;               // the code object of the frame before
  std::uint64_t number_ = 0;
  std::int64_t units_ = 0;
  std::uintptr_t file_ = 0;
  std::uint64_t file_number_ = 0;
};

}  // namespace

PythonWalk::End PythonWalk::read(const PythonInterpreter& python, GuardedMemory& memory,
                                 KnownCodes* codes, std::uintptr_t thread_state) noexcept {
  Reader reader(python, memory, codes);
  count = 0;
  std::uintptr_t frame = 0, before = 0;
  if (!reader.innermost(thread_state, frame)) return End::kOdd;
  // Counts the interpreter's own frames too, so that a list that leads into itself comes to an end.
  for (std::size_t seen = 0; frame != 0 && seen < 2 * kMaxPythonFrames; ++seen) {
    if (!reader.there(frame, before)) return End::kOdd;
    if (reader.is_shim(frame)) {
      if (count != 0) {
        PythonPlace& outermost = places[count - 1];
        if (!outermost.entry) ++outermost.key;
        outermost.entry = true;
      }
    } else {
      if (count == kMaxPythonFrames) break;
      if (!reader.place(frame, places[count])) return End::kOdd;
      ++count;
    }
    before = std::exchange(frame, reader.previous(frame));
  }
  return count == 0 ? End::kNone : End::kWhole;
}

}  // namespace cuvmm::shim
