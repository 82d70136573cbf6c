// SPDX-License-Identifier: Apache-2.0
// Shows what a process holds in an image. One thread at a time; readers need not wait.
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

/// One kind of object in the image.
template <class Record>
class Table {
 public:
  /// `offset`: of the slots in the file.
  void start(Slot<Record>* slots, std::size_t offset, Header& header, recorder::NewFile& file) {
    slots_ = slots;
    offset_ = offset;
    used_ = &header.used[table_number(slots)];
    sums_ = &header.sums;
    file_ = &file;
  }
  /// The object is there, as this. Throws std::bad_alloc.
  [[gnu::hot]] void put(const Record& record);
  /// The slot of the object by this name; null where it has none.
  Slot<Record>* at(std::uint64_t key) {
    const std::uint32_t slot = slots_ ? find(key) : SlotIndex::kNone;
    return slot == SlotIndex::kNone ? nullptr : slots_ + slot;
  }
  /// Writes words [kFrom, kTo) of the object that begins at `words`.
  template <std::size_t kFrom, std::size_t kTo>
  static void write(Slot<Record>& slot, std::uint64_t key, const void* words);
  Sums& sums() { return *sums_; }
  /// It is gone; nothing where it was not there.
  [[gnu::hot]] void drop(std::uint64_t key);

 private:
  bool make_room(std::uint32_t slot);
  // A slot for an object that has none; SlotIndex::kNone where there is no room.
  [[gnu::noinline]] std::uint32_t take_slot(std::uint64_t key);
  std::uint32_t find(std::uint64_t key) const;

  // What each change looks at comes first.
  Slot<Record>* slots_ = nullptr;
  // The object that was written last, and its slot: the calls of a block's life name one.
  std::uint64_t last_key_ = 0;
  std::uint32_t last_slot_ = 0;
  Sums* sums_ = nullptr;
  SlotIndex index_;
  std::vector<std::uint32_t> free_;
  std::uint64_t* used_ = nullptr;
  std::size_t backed_ = 0;  // slots whose pages the file has
  std::size_t offset_ = 0;
  recorder::NewFile* file_ = nullptr;
};

class Writer {
 public:
  Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer();

  /// Makes the file, which must not be there; errno, or 0. `driver` is the libcuda's path.
  int open(const std::string& path, const std::string& driver);

  void put(const Reservation& r) { reservations_.put(r); }
  void put(const Mapping& m) { mappings_.put(m); }
  void put(const MemoryHeld& m) { memory_.put(m); }
  void put(const Descriptor& d) { descriptors_.put(d); }
  void put(const Piece& p) { pieces_.put(p); }
  void put(const Team& t) { teams_.put(t); }
  // An object that changed as a call of a block's life changes it. False: put it.
  [[gnu::hot]] bool change(const Reservation& r);  ///< something was mapped in it, or unmapped
  [[gnu::hot]] bool change(const Mapping& m);      ///< its access
  [[gnu::hot]] bool change(const Allocation& a);   ///< its references or mappings
  void drop_reservation(std::uint64_t base) { reservations_.drop(base); }
  void drop_mapping(std::uint64_t base) { mappings_.drop(base); }
  void drop_memory(std::uint64_t handle) { memory_.drop(handle); }
  void drop_descriptor(int fd) { descriptors_.drop(static_cast<std::uint64_t>(fd) + 1); }
  void drop_piece(std::uint64_t base) { pieces_.drop(base); }
  void drop_team(std::uint64_t handle) { teams_.drop(handle); }

  /// The stack that objects name, if it is new: its return addresses and its Python functions.
  /// Strings of these last as long as the process.
  bool knows_stack(std::uint32_t id) const {
    return id == 0 || id >= kStacks || (stacks_[id / 64] >> (id % 64) & 1) != 0;
  }
  void note_stack(std::uint32_t id, std::span<const std::uintptr_t> frames,
                  std::span<const frames::PythonLine> python);
  /// A call has changed something.
  void note_call(std::uint64_t number) noexcept {
    if (image_) recorder::store(image_->header.calls, number);
  }

  /// In a child of fork: the file stays the parent's, and nothing is written to it any more.
  void leave() noexcept;

 private:
  // A part of the file that grows to its end, but not beyond `most`.
  struct Part {
    std::size_t offset, most;
    std::size_t backed = 0;  // bytes whose pages the file has
  };
  // Whether the part's first `end` bytes can be written.
  bool reach(Part& part, std::size_t end);
  // Whether a stack may name this place: it is in the image now.
  bool note_line(const frames::PythonLine& line);
  // Where the name begins in the image; 0 where there is no room.
  std::uint32_t note_name(std::string_view name);

  Image* image_ = nullptr;
  recorder::NewFile file_;
  Table<Reservation> reservations_;
  Table<Mapping> mappings_;
  Table<MemoryHeld> memory_;
  Table<Descriptor> descriptors_;
  Table<Piece> pieces_;
  Table<Team> teams_;
  std::array<std::uint64_t, kStacks / 64> stacks_{};      // a bit each
  std::array<std::uint64_t, kPythonLines / 64> lines_{};  // of those that are in the image
  Part stacks_part_{offsetof(Image, stacks), sizeof(Image::stacks)};
  Part lines_part_{offsetof(Image, lines), sizeof(Image::lines)};
  Part names_part_{offsetof(Image, names), sizeof(Image::names)};
  std::size_t names_end_ = 1;        // of those in the image: 0 is no name's place
  const char* last_file_ = nullptr;  // mostly that of the next place too
  std::uint32_t last_file_at_ = 0;
};

}  // namespace cuvmm::holdings
