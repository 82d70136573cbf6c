// SPDX-License-Identifier: Apache-2.0
#include "recorder/holdings/writer.h"

#include <sys/resource.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>
#include <utility>

namespace cuvmm::holdings {

using recorder::store;

namespace {

constexpr std::size_t kStep = std::size_t{64} << 10;  // bytes by which the file grows

// Readers read while this thread writes, so each word is stored at once. Only this thread changes
// the words.
inline void add(std::uint64_t& word, std::uint64_t more) { store(word, word + more); }

// `by` is 1 for an object that begins, and kLess for an object that ends.
constexpr std::uint64_t kLess = ~std::uint64_t{0};  // -1

[[gnu::always_inline]] inline void account(Sums& sums, const Reservation& r, std::uint64_t by) {
  add(sums.reservations, by);
  add(sums.reserved, by * r.size);
}
[[gnu::always_inline]] inline void account(Sums& sums, const Mapping& m, std::uint64_t by) {
  add(sums.mappings, by);
  add(sums.mapped, by * m.size);
}
[[gnu::always_inline]] inline void account(Sums& sums, const MemoryHeld& m, std::uint64_t by) {
  const Allocation& a = m.allocation;
  if (a.multicast) return;
  if (a.imported) {
    add(sums.imports, by);
    add(sums.imported, by * a.size);
    return;
  }
  add(sums.allocations, by);
  add(a.mappings != 0 ? sums.used : sums.unused, by * a.size);
}
[[gnu::always_inline]] inline void account(Sums& sums, const Descriptor& d, std::uint64_t by) {
  switch (d.kind) {
    case Descriptor::Kind::kExported:
      add(sums.exports, by);
      add(sums.exported, by * d.exported.size);
      break;
    case Descriptor::Kind::kReceived:
      add(sums.received, by);
      break;
    case Descriptor::Kind::kDmaBuf:
      add(sums.dma_bufs, by);
      break;
    case Descriptor::Kind::kCount:
      break;
  }
}
[[gnu::always_inline]] inline void account(Sums& sums, const Piece& p, std::uint64_t by) {
  switch (p.kind) {
    case Piece::Kind::kDevice:
    case Piece::Kind::kManaged:
      add(sums.plain, by);
      add(sums.plain_bytes, by * p.size);
      break;
    case Piece::Kind::kHost:
    case Piece::Kind::kRegistered:
      add(sums.host, by);
      add(sums.host_bytes, by * p.size);
      break;
    case Piece::Kind::kPool:
      add(sums.pool, by);
      add(sums.pool_bytes, by * p.size);
      break;
    case Piece::Kind::kIpc:
      add(sums.ipc, by);
      add(sums.ipc_bytes, by * p.size);
      break;
    case Piece::Kind::kCount:
      break;
  }
}

[[gnu::always_inline]] inline void account(Sums& sums, const Team&, std::uint64_t by) {
  add(sums.teams, by);
}

// Whether a change from `a` to `b` leaves the sums as they are. Most changes alter only the Origin
// of the last call.
[[gnu::always_inline]] inline bool counts_alike(const Reservation& a, const Reservation& b) {
  return a.size == b.size;
}
[[gnu::always_inline]] inline bool counts_alike(const Mapping& a, const Mapping& b) {
  return a.size == b.size;
}
[[gnu::always_inline]] inline bool counts_alike(const MemoryHeld& a, const MemoryHeld& b) {
  const Allocation &x = a.allocation, &y = b.allocation;
  return x.size == y.size && (x.mappings != 0) == (y.mappings != 0) && x.imported == y.imported &&
         x.multicast == y.multicast;
}
[[gnu::always_inline]] inline bool counts_alike(const Descriptor&, const Descriptor&) {
  return false;
}
[[gnu::always_inline]] inline bool counts_alike(const Piece&, const Piece&) { return false; }
[[gnu::always_inline]] inline bool counts_alike(const Team&, const Team&) { return true; }

// Copies only the members that the caller reads, because the compiler inlines this function.
template <class Record>
[[gnu::always_inline]] inline Record record_of(const Slot<Record>& slot) {
  Record record;
  std::memcpy(static_cast<void*>(&record), slot.words, sizeof record);
  return record;
}

#if defined(__SANITIZE_THREAD__)
#define CUVMM_SEES_WORDS
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CUVMM_SEES_WORDS
#endif
#endif

// Copies two words at a time where the processor has registers of that size. A reader sees by the
// slot's sequence whether it read a part of two states. ThreadSanitizer needs single words.
template <std::size_t kWords>
[[gnu::always_inline]] inline void copy_words(std::uint64_t* to, const void* from) {
#if !defined(__SSE2__) || defined(CUVMM_SEES_WORDS)
  const auto* const words = static_cast<const std::uint64_t*>(from);
  for (std::size_t i = 0; i < kWords; ++i) store(to[i], words[i]);
#else
  const auto* const bytes = static_cast<const char*>(from);
  const auto pair = [&](std::size_t i) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 8 * i)));
  };
  // The copies are unrolled, because the compiler would keep a loop here.
  [&]<std::size_t... kAt>(std::index_sequence<kAt...>) { (pair(2 * kAt), ...); }
  (std::make_index_sequence<kWords / 2>());
  if constexpr (kWords % 2 != 0) {
    std::uint64_t last;
    std::memcpy(&last, bytes + 8 * (kWords - 1), 8);
    store(to[kWords - 1], last);
  }
#endif
}

// Where address space is limited, the program needs it more than the image does.
bool space_is_ample() noexcept {
  constexpr rlim_t kAmple = rlim_t{16} << 30;
  rlimit space{};
  return ::getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur >= kAmple;
}

}  // namespace

template <class Record>
bool Table<Record>::make_more_room(std::uint32_t slot) {
  if (slot >= kCapacity<Record>) return false;
  const std::size_t from = backed_ * sizeof(Slot<Record>);
  const std::size_t to =
      std::min((slot + 1) * sizeof(Slot<Record>) + kStep, kCapacity<Record> * sizeof(Slot<Record>));
  if (!file_->grow(offset_ + from, to - from)) return false;
  backed_ = to / sizeof(Slot<Record>);
  return true;
}

// Writes all of these words, because finding the words that differ costs more than writing them.
template <class Record>
template <std::size_t kFrom, std::size_t kTo>
[[gnu::always_inline]] inline void Table<Record>::write(Slot<Record>& slot, std::uint64_t key,
                                                        const void* words) {
  const std::uint64_t sequence = slot.sequence;
  store(slot.sequence, sequence + 1);
  recorder::fence(__ATOMIC_RELEASE);
  store(slot.key, key);
  copy_words<kTo - kFrom>(slot.words + kFrom, static_cast<const char*>(words) + 8 * kFrom);
  __atomic_store_n(&slot.sequence, sequence + 2, __ATOMIC_RELEASE);
}

template <class Record>
[[gnu::always_inline]] inline std::uint32_t Table<Record>::find(std::uint64_t key) const {
  if (key == last_key_) [[likely]]
    return last_slot_;
  return index_.find(key, [this](std::uint32_t at) { return slots_[at].key; });
}

template <class Record>
void Table<Record>::put(const Record& record) {
  if (!slots_) [[unlikely]]
    return;
  const std::uint64_t key = key_of(record);
  std::uint32_t at = find(key);
  bool counted = false;
  if (at != SlotIndex::kNone) [[unlikely]] {
    const Record before = record_of(slots_[at]);
    counted = counts_alike(before, record);
    if (!counted) account(*sums_, before, kLess);
  } else {
    at = take_slot(key);
    if (at == SlotIndex::kNone) [[unlikely]]
      return;
  }
  last_key_ = key;
  last_slot_ = at;
  write<0, Slot<Record>::kWords>(slots_[at], key, &record);
  if (!counted) [[likely]]
    account(*sums_, record, 1);
}

template <class Record>
[[gnu::always_inline]] inline std::uint32_t Table<Record>::take_slot(std::uint64_t key) {
  const auto key_at = [this](std::uint32_t at) { return slots_[at].key; };
  const bool fresh = free_ == SlotIndex::kNone;
  const std::uint32_t at = fresh ? static_cast<std::uint32_t>(*used_) : free_;
  if (!make_room(at)) [[unlikely]] {
    free_ = SlotIndex::kNone;  // somebody else has written into the list of free slots
    store(sums_->missed, sums_->missed + 1);
    return SlotIndex::kNone;
  }
  index_.add(key, at, key_at);  // can throw, so it comes before anything has changed
  if (fresh) [[unlikely]] {
    store(*used_, *used_ + 1);
  } else {
    free_ = static_cast<std::uint32_t>(slots_[at].words[0]);
  }
  return at;
}

template <class Record>
void Table<Record>::drop(std::uint64_t key) {
  if (!slots_) [[unlikely]]
    return;
  const std::uint32_t at =
      index_.remove(key, [this](std::uint32_t slot) { return slots_[slot].key; });
  if (at == SlotIndex::kNone) [[unlikely]]
    return;
  if (key == last_key_) last_key_ = 0;
  Slot<Record>& slot = slots_[at];
  account(*sums_, record_of(slot), kLess);
  // The other words of the object stay, because a reader that sees key 0 does not take them.
  const std::uint64_t sequence = slot.sequence;
  store(slot.sequence, sequence + 1);
  recorder::fence(__ATOMIC_RELEASE);
  store(slot.key, 0);
  store(slot.words[0], free_);
  __atomic_store_n(&slot.sequence, sequence + 2, __ATOMIC_RELEASE);
  free_ = at;
}

template class Table<Reservation>;
template class Table<Mapping>;
template class Table<MemoryHeld>;
template class Table<Descriptor>;
template class Table<Piece>;
template class Table<Team>;

int Writer::open(const std::string& path, const std::string& driver) {
  if (!space_is_ample()) return EFBIG;
  const int error = file_.create(path, kShape, sizeof(Header));
  if (error != 0) return error;
  file_.describe(driver);
  image_ = static_cast<Image*>(file_.memory());
  Header& header = image_->header;
  reservations_.start(image_->reservations, offsetof(Image, reservations), header, file_);
  mappings_.start(image_->mappings, offsetof(Image, mappings), header, file_);
  memory_.start(image_->memory, offsetof(Image, memory), header, file_);
  descriptors_.start(image_->descriptors, offsetof(Image, descriptors), header, file_);
  pieces_.start(image_->pieces, offsetof(Image, pieces), header, file_);
  teams_.start(image_->teams, offsetof(Image, teams), header, file_);
  file_.publish();
  return 0;
}

// Changes are written at the offsets of the members.
static_assert(std::is_standard_layout_v<Allocation> && std::is_standard_layout_v<Reservation> &&
              std::is_standard_layout_v<Mapping>);
static_assert(offsetof(MemoryHeld, allocation) == 0);
static_assert(offsetof(Reservation, unmapped) % 8 == 0 && offsetof(Mapping, access) % 8 == 0);

bool Writer::change(const Reservation& r) {
  Slot<Reservation>* const slot = reservations_.at(r.base);
  if (!slot) [[unlikely]]
    return false;
  constexpr std::size_t kEnd = sizeof(Reservation) / 8;
  reservations_.write<offsetof(Reservation, unmapped) / 8, kEnd>(*slot, r.base, &r);
  return true;
}

bool Writer::change(const Mapping& m) {
  Slot<Mapping>* const slot = mappings_.at(m.base);
  if (!slot) [[unlikely]]
    return false;
  mappings_.write<offsetof(Mapping, access) / 8, offsetof(Mapping, made) / 8>(*slot, m.base, &m);
  return true;
}

bool Writer::change(const Allocation& a) {
  Slot<MemoryHeld>* const slot = memory_.at(a.handle);
  if (!slot) [[unlikely]]
    return false;
  // The size of an import is unknown until its first mapping.
  const bool same = slot->words[offsetof(Allocation, size) / 8] == a.size &&
                    slot->words[offsetof(Allocation, made.call) / 8] == a.made.call;
  if (!same || a.multicast) [[unlikely]]
    return false;
  constexpr std::size_t kMappings = offsetof(Allocation, mappings);
  static_assert(kMappings % 8 == 4);
  const bool mapped_before = (slot->words[kMappings / 8] >> 32) != 0;
  if (!a.imported && mapped_before != (a.mappings != 0)) {
    Sums& sums = memory_.sums();
    const std::uint64_t more = a.mappings != 0 ? a.size : 0 - a.size;
    add(sums.used, more);
    add(sums.unused, 0 - more);
  }
  constexpr std::size_t kEnd = sizeof(Allocation) / 8;
  memory_.write<offsetof(Allocation, references) / 8, kEnd>(*slot, a.handle, &a);
  return true;
}

bool Writer::reach(Part& part, std::size_t end) {
  if (end <= part.backed) return true;
  if (end > part.most) return false;
  const std::size_t to = std::min(end + kStep, part.most);
  if (!file_.grow(part.offset + part.backed, to - part.backed)) return false;
  part.backed = to;
  return true;
}

std::uint32_t Writer::note_name(std::string_view name) {
  const std::size_t at = names_end_;
  if (!reach(names_part_, at + name.size() + 1)) return 0;
  std::copy(name.begin(), name.end(), image_->names + at);  // the file is all zero behind the name
  names_end_ += name.size() + 1;
  return static_cast<std::uint32_t>(at);
}

bool Writer::note_line(const frames::PythonLine& line) {
  if (line.number == 0 || line.number >= kPythonLines) return false;
  std::uint64_t& known = lines_[line.number / 64];
  const std::uint64_t bit = std::uint64_t{1} << (line.number % 64);
  if ((known & bit) != 0) return true;
  if (!reach(lines_part_, (line.number + 1) * sizeof(LineSlot))) return false;
  if (line.file.data() != last_file_) {
    last_file_at_ = note_name(line.file);
    last_file_ = last_file_at_ != 0 ? line.file.data() : nullptr;
  }
  const std::uint32_t function = note_name(line.function);
  if (!last_file_ || function == 0) return false;
  image_->lines[line.number] = {function, last_file_at_, static_cast<std::uint64_t>(line.line)};
  known |= bit;
  return true;
}

void Writer::note_stack(std::uint32_t id, std::span<const std::uintptr_t> frames,
                        std::span<const frames::PythonLine> python, std::string_view function) {
  if (!image_ || knows_stack(id) || !reach(stacks_part_, (id + 1) * sizeof(StackSlot))) return;
  stacks_[id / 64] |= std::uint64_t{1} << (id % 64);
  StackSlot& slot = image_->stacks[id];
  const std::size_t count = std::min(frames.size(), kFrames);
  for (std::size_t i = 0; i < count; ++i) store(slot.frames[i], frames[i]);
  std::size_t lines = 0;
  for (const frames::PythonLine& line : python.first(std::min(python.size(), kPythonFrames))) {
    if (!note_line(line)) continue;
    // No reader finds the stack before an object names it, and the object is written after a fence.
    store(slot.python[lines++], line.number | (line.entry ? StackSlot::kEntry : 0));
  }
  if (!function.empty()) store(slot.function, note_name(function));
}

void Writer::leave() noexcept {
  if (!image_) return;
  file_.close();
  image_ = nullptr;
  reservations_ = {};
  mappings_ = {};
  memory_ = {};
  descriptors_ = {};
  pieces_ = {};
  teams_ = {};
  stacks_ = {};
  lines_ = {};
  for (Part* const part : {&stacks_part_, &lines_part_, &names_part_}) part->backed = 0;
  names_end_ = 1;
  last_file_ = nullptr;
}

Writer::~Writer() { leave(); }

}  // namespace cuvmm::holdings
