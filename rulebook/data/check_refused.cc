// SPDX-License-Identifier: Apache-2.0
// Why a driver refused a copy or a fill: the memory has ended, or is smaller than the touched
// range.
#include <iterator>
#include <string_view>

#include "rulebook/check/check_support.h"
#include "rulebook/data/refused.h"

namespace cuvmm {
using namespace detail;

bool names_device(const Touch& touch) {
  const std::string_view parameter = touch.parameter;
  return touch.fill || touch.device_only || touch.on_gpu || parameter == "dstDevice" ||
         parameter == "srcDevice";
}

namespace {

// Whether bytes from `offset` on run past the end of memory of this size.
bool runs_past(const Touch& touch, Size offset, Size size) {
  const auto fits = [](Size count, Size pitch, Size room) {
    return count <= 1 || (pitch != 0 && count - 1 <= room / pitch);
  };
  if (touch.width > size - offset) return true;
  Size room = size - offset - touch.width;
  if (!fits(touch.rows, touch.pitch, room)) return true;
  if (touch.rows > 1) room -= (touch.rows - 1) * touch.pitch;
  return !fits(touch.slices, touch.slice_pitch, room);
}

// Checks the touch against live memory. True if some live memory is there: then memory that ended
// there is not the reason.
bool check_end(Collector& out, const Model& model, const Touch& touch) {
  ObjectRef object;
  std::string what;
  if (const PlainMemory* m = model.memory().at(touch.base)) {
    object = ref(*m);
    what = words(m->kind);
    if (m->kind == PlainMemory::Kind::kRegistered) return true;
  } else if (const PoolMemory* p = model.pools().memory_at(touch.base)) {
    object = ref(*p);
    what = "memory of a pool";
  } else if (const IpcOpen* open = model.ipc().open_at(touch.base)) {
    object = ref(*open);
    object.size = open->size;
    what = "memory of another process";
  } else {
    return model.external().buffer_at(touch.base) != nullptr;
  }
  if (object.size == 0 || !runs_past(touch, touch.base - object.value, object.size)) return true;
  const bool one_run = touch.rows == 1 && touch.slices == 1;
  const Size over = touch.width - (object.size - (touch.base - object.value));
  out.add(Rule::kDataInside,
          std::string(touch.parameter) + ": the memory touched from " + hex_text(touch.base) +
              " on runs " + (one_run ? size_text(over) + " " : "") + "past the end of " +
              range(object.value, object.size) + ", " + what,
          false)
      .objects.push_back(object);
  return true;
}

// Bytes from the first to the last; 0 if the number overflows.
Size span_of(const Touch& touch) {
  Size slices = 0, rows = 0, span = 0;
  const bool wraps = __builtin_mul_overflow(touch.slices - 1, touch.slice_pitch, &slices) ||
                     __builtin_mul_overflow(touch.rows - 1, touch.pitch, &rows) ||
                     __builtin_add_overflow(slices, rows, &span) ||
                     __builtin_add_overflow(span, touch.width, &span);
  return wraps ? 0 : span;
}

// The last entry of the table that begins at or before the address; null: none.
template <class Table>
const typename Table::mapped_type* last_before(const Table& table, Address address) {
  const auto next = table.upper_bound(address);
  return next == table.begin() ? nullptr : &std::prev(next)->second;
}

// Checks for live memory of a device that ends before the address. An address that is far from all
// memory is no overrun.
void check_behind(Collector& out, const Model& model, const Touch& touch) {
  constexpr Size kNear = Size{1} << 30;
  ObjectRef object;
  std::string what;
  if (const PlainMemory* m = last_before(model.memory().all(), touch.base);
      m && m->freed_as_device()) {
    object = ref(*m);
    what = words(m->kind);
  }
  if (const PoolMemory* p = last_before(model.pools().memory(), touch.base);
      p && p->size != 0 && p->base >= object.value) {
    object = ref(*p);
    what = "memory of a pool";
  }
  if (object.size == 0) return;
  const auto mapped = model.first_mapping_after(object.value);
  if (mapped != model.mappings().end() && mapped->first < touch.base) return;
  const Size over = touch.base - object.value - object.size;
  if (over >= kNear) return;
  out.add(Rule::kDataInside,
          std::string(touch.parameter) + ": " + hex_text(touch.base) +
              " lies in no memory that cuvmm knows: " +
              (over == 0 ? std::string("it is the end of ")
                         : "it is " + size_text(over) + " past the end of ") +
              range(object.value, object.size) + ", " + what,
          false)
      .objects.push_back(object);
}

// Checks for live memory that begins between the address and the end of the bytes.
bool check_beginning(Collector& out, const Model& model, const Touch& touch) {
  ObjectRef object;
  const Size span = span_of(touch);
  if (span == 0) return true;
  if (const PlainMemory* m = model.memory().first_in(touch.base, span)) {
    // The program may have any memory of its own in front of memory on the host.
    const bool host =
        m->kind == PlainMemory::Kind::kRegistered || m->kind == PlainMemory::Kind::kHost;
    if (host) return true;
    object = ref(*m);
  } else if (const PoolMemory* p = model.pools().memory_at(touch.base + (span - 1))) {
    object = ref(*p);
  } else {
    return false;
  }
  out.add(Rule::kDataInside,
          std::string(touch.parameter) + ": the memory touched from " + hex_text(touch.base) +
              " on begins " + size_text(object.value - touch.base) + " before " +
              range(object.value, object.size),
          false)
      .objects.push_back(object);
  return true;
}

// Whether some known memory has ended there.
bool check_ended(Collector& out, const Model& model, const Touch& touch) {
  using Kind = ObjectRef::Kind;
  std::optional<ObjectRef> ended_object;
  for (const Kind kind : {Kind::kReservation, Kind::kMemory, Kind::kPoolMemory, Kind::kIpcMemory,
                          Kind::kExternalBuffer}) {
    const auto one = model.tombstones().find_covering(kind, touch.base);
    if (one && (!ended_object || ended_object->ended.call < one->ended.call)) ended_object = one;
  }
  if (!ended_object) return false;
  if (ended_object->kind == Kind::kReservation) {
    Violation& v = out.add(Rule::kDataMapped,
                           std::string(touch.parameter) + ": " + hex_text(touch.base) +
                               " lies in a reservation that was freed, " +
                               range(ended_object->value, ended_object->size),
                           false);
    attach_history(v, model, touch.base);
    return true;
  }
  out.add(Rule::kDataAlive,
          std::string(touch.parameter) + ": " + hex_text(touch.base) +
              " lies in memory that has ended, " + range(ended_object->value, ended_object->size),
          false)
      .objects.push_back(*ended_object);
  return true;
}

}  // namespace

Violations check_refused_touches(const Model& model, const Touch* touches, std::size_t count) {
  Collector out;
  for (std::size_t i = 0; i < count; ++i) {
    const Touch& touch = touches[i];
    if (model.reservation_at(touch.base) || model.mapping_at(touch.base)) continue;
    if (touch.width == 0 || touch.rows == 0 || touch.slices == 0) continue;
    if (check_end(out, model, touch)) continue;
    if (check_ended(out, model, touch) || check_beginning(out, model, touch)) continue;
    if (names_device(touch)) check_behind(out, model, touch);
  }
  return out.take();
}

}  // namespace cuvmm
