// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/python/walk.h"

#include <pthread.h>

#include "shim/stack/python/text.h"

namespace cuvmm::shim {

namespace {

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

class Reader {
 public:
  Reader(const PythonInterpreter& python, GuardedMemory& memory)
      : python_(python), layout_(python.layout), memory_(memory) {}

  // Null where there is none. False where it cannot be read, or where the state is not this
  // thread's.
  bool innermost(std::uintptr_t state, std::uintptr_t& frame) {
    const auto& at = layout_.thread;
    unsigned long owner = 0;
    if (!memory_.read(state + at.thread_id, owner) || !memory_.read(state + at.frame, frame))
      return false;
    if (owner != ::pthread_self()) {
      frame = 0;  // a state that its program moves between threads
      return true;
    }
    if (at.cframe_frame == PythonLayout::kNowhere || frame == 0) return true;
    return memory_.read(frame + at.cframe_frame, frame);
  }

  bool previous(std::uintptr_t& frame) {
    return memory_.read(frame + layout_.frame.previous, frame);
  }

  // A frame that stands for the interpreter's own code, between two of its loops.
  bool is_shim(std::uintptr_t frame, bool& shim) {
    std::uint8_t owner = 0;
    if (layout_.frame.owner != PythonLayout::kNowhere &&
        !memory_.read(frame + layout_.frame.owner, owner))
      return false;
    shim = owner >= PythonLayout::kFirstShim;
    return true;
  }

  bool place(std::uintptr_t frame, PythonPlace& place) {
    const auto& at = layout_.frame;
    constexpr std::uintptr_t kTags = 7;
    if (!memory_.read(frame + at.code, place.code)) return false;
    place.code &= ~kTags;
    std::uint8_t entry = at.owner == PythonLayout::kNowhere ? 1 : 0;
    if (at.is_entry != PythonLayout::kNowhere && !memory_.read(frame + at.is_entry, entry))
      return false;
    place.entry = entry != 0;
    return instruction(frame, place) && key(place);
  }

 private:
  bool instruction(std::uintptr_t frame, PythonPlace& place) {
    constexpr std::int64_t kLongest = std::int64_t{1} << 28;
    const std::uint16_t at = layout_.frame.instruction;
    if (layout_.code.bytecode == PythonLayout::kNowhere) {
      std::int32_t number = 0;
      if (!memory_.read(frame + at, number) || number > kLongest) return false;
      place.instruction = number < 0 ? 0 : number * layout_.instruction_unit;
      return true;
    }
    std::uintptr_t next = 0;
    std::int64_t units = 0;
    if (!memory_.read(frame + at, next) ||
        !memory_.read(place.code + PythonLayout::kObjectSize, units))
      return false;
    constexpr std::int64_t kUnit = 2, kBeforeTheFirst = -kUnit;
    const auto distance = static_cast<std::int64_t>(next - (place.code + layout_.code.bytecode));
    if (units <= 0 || units > kLongest || distance < kBeforeTheFirst || distance >= units * kUnit)
      return false;
    place.instruction = distance < 0 ? 0 : static_cast<std::int32_t>(distance);
    return true;
  }

  // All that tells this code object from another one that had its address before: a program that
  // compiles and drops code gets the same addresses again.
  bool key(PythonPlace& place) {
    const auto& at = layout_.code;
    std::uintptr_t type = 0, file = 0, name = 0, lines = 0;
    std::int32_t first_line = 0;
    if (!memory_.read(place.code + PythonLayout::kObjectType, type) || type != python_.code_type ||
        !memory_.read(place.code + at.filename, file) ||
        !memory_.read(place.code + at.name, name) || !memory_.read(place.code + at.lines, lines) ||
        !memory_.read(place.code + at.first_line, first_line))
      return false;
    if (file != file_) {  // mostly that of the function before
      if (!fingerprint(file, file_number_)) return false;
      file_ = file;
    }
    std::uint64_t name_number = 0;
    if (!fingerprint(name, name_number)) return false;
    const auto line_and_instruction = static_cast<std::uint64_t>(first_line) << 32 |
                                      static_cast<std::uint32_t>(place.instruction);
    place.key = mix(mix(mix(mix(place.code, lines), line_and_instruction), file_number_),
                    name_number + (place.entry ? 1 : 0));
    return true;
  }

  bool fingerprint(std::uintptr_t object, std::uint64_t& number) {
    PythonText text;
    return text.find(memory_, object, python_.string_type, layout_.ascii_size) &&
           text.fingerprint(memory_, number);
  }

  const PythonInterpreter& python_;
  const PythonLayout& layout_;
  GuardedMemory& memory_;
  std::uintptr_t file_ = 0;
  std::uint64_t file_number_ = 0;
};

}  // namespace

PythonWalk::End PythonWalk::read(const PythonInterpreter& python, GuardedMemory& memory,
                                 std::uintptr_t thread_state) noexcept {
  Reader reader(python, memory);
  count = 0;
  std::uintptr_t frame = 0;
  if (!reader.innermost(thread_state, frame)) return End::kOdd;
  // Shims too, so that a list that leads into itself comes to an end.
  for (std::size_t seen = 0; frame != 0 && seen < 2 * kMaxPythonFrames; ++seen) {
    bool shim = false;
    if (!reader.is_shim(frame, shim)) return End::kOdd;
    if (shim) {
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
    if (!reader.previous(frame)) return End::kOdd;
  }
  return count == 0 ? End::kNone : End::kWhole;
}

}  // namespace cuvmm::shim
