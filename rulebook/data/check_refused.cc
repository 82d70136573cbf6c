// SPDX-License-Identifier: Apache-2.0
// Why a driver refused a copy or a fill: its memory has ended, or is smaller than what it touches.
#include <string_view>

#include "rulebook/check_support.h"
#include "rulebook/data/touch.h"

namespace cuvmm {
using namespace detail;

namespace {

// Whether the parameter takes device memory. Any other address may be the host's own by now: the
// allocator of the program, which nobody sees, gives addresses out again.
bool names_device(const Touch& touch) {
  const std::string_view parameter = touch.parameter;
  return touch.fill || touch.device_only || parameter == "dstDevice" || parameter == "srcDevice";
}

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

// True when there is live memory, right or wrong: nothing that ended there is the reason then.
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
  } else {
    return model.external().buffer_at(touch.base) || model.ipc().open_at(touch.base);
  }
  if (object.size == 0 || !runs_past(touch, touch.base - object.value, object.size)) return true;
  out.add(Rule::kDataInside,
          std::string(touch.parameter) + ": what is touched from " + hex_text(touch.base) +
              " on runs past the end of " + range(object.value, object.size) + ", " + what,
          false)
      .objects.push_back(object);
  return true;
}

// `device`: the address is device memory's. Of any other only reservations are looked at, because
// nobody else is given their addresses unseen.
void check_ended(Collector& out, const Model& model, const Touch& touch, bool device) {
  using Kind = ObjectRef::Kind;
  std::optional<ObjectRef> gone;
  for (const Kind kind : {Kind::kReservation, Kind::kMemory, Kind::kPoolMemory}) {
    if (!device && kind != Kind::kReservation) continue;
    const auto one = model.tombstones().find_covering(kind, touch.base);
    if (one && (!gone || gone->ended.call < one->ended.call)) gone = one;
  }
  if (!gone) return;
  if (gone->kind == Kind::kReservation) {
    Violation& v =
        out.add(Rule::kDataMapped,
                std::string(touch.parameter) + ": " + hex_text(touch.base) +
                    " lies in a reservation that was freed, " + range(gone->value, gone->size),
                false);
    attach_history(v, model, touch.base);
    return;
  }
  out.add(Rule::kDataAlive,
          std::string(touch.parameter) + ": " + hex_text(touch.base) +
              " lies in memory that has ended, " + range(gone->value, gone->size),
          false)
      .objects.push_back(*gone);
}

}  // namespace

Violations check_refused_touches(const Model& model, const Touch* touches, std::size_t count) {
  Collector out;
  for (std::size_t i = 0; i < count; ++i) {
    const Touch& touch = touches[i];
    if (model.reservation_at(touch.base) || model.mapping_at(touch.base)) continue;
    const bool device = names_device(touch);
    if (!device || !check_end(out, model, touch)) check_ended(out, model, touch, device);
  }
  return out.take();
}

}  // namespace cuvmm
