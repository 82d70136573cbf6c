// SPDX-License-Identifier: Apache-2.0
// Writes the objects that a process holds into an image. One thread at a time writes; readers need
// not wait.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frames/python_line.h"
#include "recorder/holdings/format.h"
#include "recorder/holdings/slot_index.h"
#include "recorder/new_file.h"
#include "recorder/shared_words.h"

namespace cuvmm::holdings {

/// All objects of one kind in the image.
template <class Record>
class alignas(64) Table {
 public:
  /// `offset` is where the slots begin in the file.
  void start(Slot<Record>* slots, std::size_t offset, Header& header, recorder::NewFile& file) {
    slots_ = slots;
    offset_ = offset;
    used_ = &header.used[table_number(slots)];
    sums_ = &header.sums;
    file_ = &file;
  }
  /// Adds the object, or replaces its record. Throws std::bad_alloc.
  [[gnu::hot]] void put(const Record& record);
  /// The slot of the object with this key; null where the table has none.
  Slot<Record>* at(std::uint64_t key) {
    const std::uint32_t slot = slots_ ? find(key) : SlotIndex::kNone;
    return slot == SlotIndex::kNone ? nullptr : slots_ + slot;
  }
  /// Writes words [kFrom, kTo) of the object that begins at `words`.
  template <std::size_t kFrom, std::size_t kTo>
  static void write(Slot<Record>& slot, std::uint64_t key, const void* words);
  Sums& sums() { return *sums_; }
  /// Removes the object; does nothing where the table does not have it.
  [[gnu::hot]] void drop(std::uint64_t key);

 private:
  // Gives the slot its page; false where it cannot have one.
  bool make_room(std::uint32_t slot) { return slot < backed_ || make_more_room(slot); }
  [[gnu::cold, gnu::noinline]] bool make_more_room(std::uint32_t slot);
  // Takes a slot for an object that has none; SlotIndex::kNone where none is free.
  std::uint32_t take_slot(std::uint64_t key);
  std::uint32_t find(std::uint64_t key) const;

  // The members that each change uses come first, in one cache line.
  Slot<Record>* slots_ = nullptr;
  // The object that was written last, and its slot: the calls of a block's life often name one
  // object in a row.
  std::uint64_t last_key_ = 0;
  std::uint32_t last_slot_ = 0;
  // The last slot that became free; kNone: none is free. A free slot's first word has the number of
  // the next one. Other processes could write there, so make_room() judges each number.
  std::uint32_t free_ = SlotIndex::kNone;
  SlotIndex index_;
  std::size_t backed_ = 0;  // slots whose pages the file has
  Sums* sums_ = nullptr;
  std::uint64_t* used_ = nullptr;
  std::size_t offset_ = 0;
  recorder::NewFile* file_ = nullptr;
};

class Writer {
 public:
  Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer();

  /// Makes the file. Returns an errno, or 0; EEXIST where the path exists. `driver` is the path of
  /// libcuda.
  int open(const std::string& path, const std::string& driver);

  void put(const Reservation& r) { reservations_.put(r); }
  void put(const Mapping& m) { mappings_.put(m); }
  void put(const MemoryHeld& m) { memory_.put(m); }
  void put(const Descriptor& d) { descriptors_.put(d); }
  void put(const Piece& p) { pieces_.put(p); }
  void put(const Team& t) { teams_.put(t); }
  // Writes only the words that a call of a block's life changes. False: the caller must put() the
  // object.
  [[gnu::hot]] bool change(const Reservation& r);  ///< after a mapping in it began or ended
  [[gnu::hot]] bool change(const Mapping& m);      ///< after its access changed
  [[gnu::hot]] bool change(const Allocation& a);   ///< after its references or mappings changed
  void drop_reservation(std::uint64_t base) { reservations_.drop(base); }
  void drop_mapping(std::uint64_t base) { mappings_.drop(base); }
  void drop_memory(std::uint64_t handle) { memory_.drop(handle); }
  void drop_descriptor(int fd) { descriptors_.drop(static_cast<std::uint64_t>(fd) + 1); }
  void drop_piece(std::uint64_t base) { pieces_.drop(base); }
  void drop_team(std::uint64_t handle) { teams_.drop(handle); }

  /// Writes the stack that objects name, unless the image has it: its return addresses, its Python
  /// functions, and the function that it called. The strings must live as long as the process.
  bool knows_stack(std::uint32_t id) const {
    return id == 0 || id >= kStacks || (stacks_[id / 64] >> (id % 64) & 1) != 0;
  }
  void note_stack(std::uint32_t id, std::span<const std::uintptr_t> frames,
                  std::span<const frames::PythonLine> python, std::string_view function = {});
  /// The word for the number of the last call that has changed an object (recorder::store()); null
  /// while there is no file.
  std::uint64_t* last_call() noexcept { return image_ ? &image_->header.calls : nullptr; }

  /// Must be called in a child of fork: the file stays the parent's, and the child writes nothing
  /// to it.
  void leave() noexcept;

 private:
  // A part of the file that grows from its start up to `most` bytes.
  struct Part {
    std::size_t offset, most;
    std::size_t backed = 0;  // bytes whose pages the file has
  };
  // Gives the part's first `end` bytes their pages; false where the file system has none.
  bool reach(Part& part, std::size_t end);
  // Writes the place into the image. False where the image has no room, so that no stack may name
  // the place.
  bool note_line(const frames::PythonLine& line);
  // The position at which the name begins in the image; 0 where the image has no room.
  std::uint32_t note_name(std::string_view name);

  Table<Reservation> reservations_;
  Table<Mapping> mappings_;
  Table<MemoryHeld> memory_;
  Image* image_ = nullptr;
  recorder::NewFile file_;
  Table<Descriptor> descriptors_;
  Table<Piece> pieces_;
  Table<Team> teams_;
  std::array<std::uint64_t, kStacks / 64> stacks_{};      // one bit per stack
  std::array<std::uint64_t, kPythonLines / 64> lines_{};  // one bit per place that the image has
  Part stacks_part_{offsetof(Image, stacks), sizeof(Image::stacks)};
  Part lines_part_{offsetof(Image, lines), sizeof(Image::lines)};
  Part names_part_{offsetof(Image, names), sizeof(Image::names)};
  std::size_t names_end_ = 1;        // end of the names in the image; position 0 stays unused
  const char* last_file_ = nullptr;  // the next place is often in the same file
  std::uint32_t last_file_at_ = 0;
};

}  // namespace cuvmm::holdings
