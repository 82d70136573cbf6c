// SPDX-License-Identifier: Apache-2.0
// Records the changes of the process's memory with their times, for pictures of the memory
// (recorder/timeline/format.h). Works only if CUVMM_TIMELINE names a folder.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "api/calls.h"
#include "api/location.h"
#include "recorder/last_calls/writer.h"
#include "recorder/ticks.h"
#include "recorder/timeline/writer.h"
#include "shim/base/thread_state.h"
#include "shim/history/process_history.h"
#include "shim/recorder/named_by_call.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

/// Called with the session's lock.
///
/// The calls of a block's life write their event inline, in few cache lines of code, because a
/// driver that works in the kernel leaves the caches cold. All other calls go through functions.
class Timeline {
 public:
  /// Makes a file in this folder at the first change; "": none.
  void choose(const std::string& folder) { writer_.choose(folder); }
  bool on() const noexcept { return writer_.on(); }
  /// Called in a child of fork: the parent goes on to write its file.
  void restart_in_child() noexcept { writer_.restart_in_child(); }

  /// The driver accepted the call; or, if the model records the call at once, the driver is about
  /// to be called.
  template <class CallStruct>
  [[gnu::always_inline]] inline void add_made(const ProcessHistory& history, const CallStruct& call,
                                              const Origin& at) noexcept;
  /// The call took `retired` out of the model.
  template <class CallStruct>
  [[gnu::always_inline]] inline void add_retired(const CallStruct& call, const Retired& retired,
                                                 const Origin& at) noexcept;
  /// The driver refused the call after add_made() or add_retired().
  void mark_undone(const Origin& at) noexcept { writer_.undo(at.call, at.thread, call_ticks()); }

  /// The process is about to report: adds the living objects whose events were overwritten. Returns
  /// the stacks that the events name, those of the most bytes first.
  std::vector<StackId> finish(const Model& model);

 private:
  using What = timeline::What;
  using Object = timeline::Object;
  /// The begin of the calling thread's call, from the ring of last calls: with a ring, as under
  /// cuvmm run, no event reads the clock.
  static std::uint64_t call_ticks() noexcept {
    const std::uint64_t began = t_state.call_place.ticks;
    return began != 0 ? began : recorder::now_ticks();
  }
  [[gnu::always_inline]] void add(What what, Object object, int device,
                                  const timeline::Writer::Words& words, const Origin& at) noexcept {
    writer_.add(what, object, device, words, at, call_ticks());
  }
  [[gnu::always_inline]] void begin(Object object, std::uint64_t key, std::uint64_t size,
                                    std::uint64_t other, std::uint64_t more, int device,
                                    const Origin& at) noexcept {
    add(What::kBegin, object, device, {key, size, more, other}, at);
  }
  [[gnu::always_inline]] void end(What what, Object object, std::uint64_t key, std::uint64_t size,
                                  const Origin& made, int device, const Origin& at) noexcept {
    add(what, object, device, {key, size, made.stack, made.call}, at);
  }
  [[gnu::always_inline]] void access(const calls::MemSetAccess& call, const CUmemAccessDesc& one,
                                     const Origin& at) noexcept {
    const auto place = static_cast<std::uint64_t>(static_cast<unsigned>(one.location.id)) << 32 |
                       static_cast<unsigned>(one.location.type);
    const auto flags = static_cast<std::uint64_t>(one.flags);
    add(What::kAccess, Object::kMapping, -1, {call.ptr, call.size, place, flags}, at);
  }
  template <class CallStruct>
  [[gnu::noinline]] void add_rarely_made(const ProcessHistory& history, const CallStruct& call,
                                         const Origin& at) noexcept;
  [[gnu::noinline]] void every_access(const calls::MemSetAccess& call, const Origin& at) noexcept;
  [[gnu::noinline]] void created(const calls::MemCreate& call, const Origin& at) noexcept;
  [[gnu::noinline]] void lost(const Allocation& before, const Origin& at) noexcept;
  [[gnu::noinline]] void all_ended(const Retired& retired, const Origin& at) noexcept;
  void imported(const Model& model, std::uint64_t handle, const Origin& at) noexcept;
  void named(const ProcessHistory& history, const NamedByCall& named, const Origin& at) noexcept;
  void bound(const Model& model, Handle object, const Origin& at) noexcept;
  void in_array(const Model& model, const calls::MemMapArrayAsync& call, const Origin& at) noexcept;
  /// A use of other objects' memory.
  struct Use {
    Object object;
    std::uint64_t key, size;
    int device;
    std::uint64_t number;
    Origin made;
  };
  static Use use_of(Handle object, const MulticastBinding& binding) noexcept {
    return {Object::kBinding, object, binding.size, binding.device, 0, binding.made};
  }
  static Use use_of(std::uint64_t array, const TileState::Tiles& tiles) noexcept {
    return {Object::kSparse, array, tiles.size, tiles.device, tiles.number, tiles.made};
  }
  void tell(What what, const Use& use, Handle memory, std::uint64_t offset,
            const Origin& at) noexcept;
  void end(What what, const Use& use, const Origin& at) noexcept;
  void add_alive(const Model& model) noexcept;
  void rare_ended(const RarelyRetired& rare, const Origin& at) noexcept;

  timeline::Writer writer_;
};

template <class CallStruct>
inline void Timeline::add_made(const ProcessHistory& history, const CallStruct& call,
                               const Origin& at) noexcept {
  if constexpr (std::is_same_v<CallStruct, calls::MemAddressReserve>) {
    begin(Object::kReservation, *call.ptr, call.size, 0, 0, -1, at);
  } else if constexpr (std::is_same_v<CallStruct, calls::MemCreate>) {
    const CUmemLocation& location = call.prop->location;
    if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) [[unlikely]]
      return created(call, at);
    begin(Object::kAllocation, *call.handle, call.size, 0, 0, location.id, at);
  } else if constexpr (std::is_same_v<CallStruct, calls::MemMap>) {
    begin(Object::kMapping, call.ptr, call.size, call.handle, call.offset, -1, at);
  } else if constexpr (std::is_same_v<CallStruct, calls::MemSetAccess>) {
    if (call.count != 1 || !call.desc) [[unlikely]]
      return every_access(call, at);
    access(call, *call.desc, at);
  } else if constexpr (std::is_same_v<CallStruct, calls::ImportExternalMemory>) {
    imported(history.model, reinterpret_cast<std::uintptr_t>(*call.extMem_out), at);
  } else {
    add_rarely_made(history, call, at);
  }
}

template <class CallStruct>
void Timeline::add_rarely_made(const ProcessHistory& history, const CallStruct& call,
                               const Origin& at) noexcept {
  if constexpr (BindsMulticast<CallStruct>) return bound(history.model, call.mcHandle, at);
  if constexpr (std::is_same_v<CallStruct, calls::MemMapArrayAsync>) {
    return in_array(history.model, call, at);
  }
  named(history, named_by(call), at);
}

template <class CallStruct>
inline void Timeline::add_retired(const CallStruct&, const Retired& retired,
                                  const Origin& at) noexcept {
  if constexpr (std::is_same_v<CallStruct, calls::MemRelease>) {
    const Allocation* const before = retired.allocations.only();
    if (!before) [[unlikely]]
      return all_ended(retired, at);
    const Allocation& a = *before;
    // Does nothing if the memory has other references or mappings.
    if (a.references + a.mappings != 1) return;
    const CUmemLocation& location = a.prop.location;
    const bool plain =
        a.prop_known && !a.imported && !a.multicast && location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    if (!plain) [[unlikely]]
      return all_ended(retired, at);
    end(What::kEnd, Object::kAllocation, a.handle, a.size, a.made, location.id, at);
  } else if constexpr (std::is_same_v<CallStruct, calls::MemAddressFree>) {
    const Reservation* const r = retired.reservations.only();
    if (!r) [[unlikely]]
      return all_ended(retired, at);
    end(What::kEnd, Object::kReservation, r->base, r->size, r->made, -1, at);
  } else if constexpr (std::is_same_v<CallStruct, calls::MemUnmap>) {
    const Mapping* const m = retired.mappings.only();
    const Allocation* const of = retired.allocations.only();
    if (!m || !of || of->references + of->mappings == 1) [[unlikely]]
      return all_ended(retired, at);
    end(What::kEnd, Object::kMapping, m->base, m->size, m->made, -1, at);
  } else {
    all_ended(retired, at);
  }
}

}  // namespace cuvmm::shim
