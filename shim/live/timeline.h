// SPDX-License-Identifier: Apache-2.0
// What happens to the process's memory, kept with its time for pictures of it
// (live/timeline_format.h). Only where CUVMM_TIMELINE names a folder.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "api/calls.h"
#include "api/location.h"
#include "live/timeline_writer.h"
#include "shim/live/named_by_call.h"
#include "shim/session/books.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

/// Called with the session's lock.
class Timeline {
 public:
  /// From the first change on there is a file in this folder; "": none.
  void choose(const std::string& folder) {
    folder_ = folder;
    on_ = !folder.empty();
  }
  bool on() const { return on_; }
  /// In a child of fork: the parent's file stays the parent's.
  void restart_in_child() noexcept;

  /// The driver accepted the call, or is about to be asked where the model records at once.
  template <class CallStruct>
  [[gnu::hot]] void made(const Books& books, const CallStruct& call, Origin at) noexcept;
  /// It took this out of the model.
  template <class CallStruct>
  void gone(const CallStruct&, const Retired& retired, Origin at) noexcept {
    if (!ready()) return;
    if constexpr (std::is_same_v<CallStruct, calls::MemRelease>) {
      if (!retired.allocations.empty()) lost(retired.allocations[0], at);
    } else if constexpr (std::is_same_v<CallStruct, calls::MemAddressFree>) {
      if (!retired.reservations.empty()) freed(retired.reservations[0], at);
    } else {
      all_gone(retired, at);
    }
  }
  /// The driver refused the call after all.
  void undone(Origin at) noexcept { writer_.undo(at.call, at.thread); }

  /// The process is about to report: what lives and is not among the kept events is added. Gives
  /// the stacks that the events name, those of the most bytes first.
  std::vector<StackId> finish(const Model& model);

 private:
  using What = live::TimelineWhat;
  using Object = live::TimelineObject;
  bool ready() noexcept { return writer_.is_open() || start(); }
  [[gnu::cold, gnu::noinline]] bool start() noexcept;
  [[gnu::always_inline]] void begin(Object object, std::uint64_t key, std::uint64_t size,
                                    std::uint64_t other, std::uint64_t more, int device,
                                    Origin at) noexcept {
    writer_.add({0, at.call, key, size, other, more, at.thread, at.stack, What::kBegin, object,
                 static_cast<std::int16_t>(device), 0});
  }
  [[gnu::always_inline]] void end(What what, Object object, std::uint64_t key, std::uint64_t size,
                                  Origin made, int device, Origin at) noexcept {
    writer_.add({0, at.call, key, size, made.call, made.stack, at.thread, at.stack, what, object,
                 static_cast<std::int16_t>(device), 0});
  }
  [[gnu::hot]] void lost(const Allocation& before, Origin at) noexcept;
  [[gnu::hot]] void freed(const Reservation& r, Origin at) noexcept;
  [[gnu::hot]] void all_gone(const Retired& retired, Origin at) noexcept;
  void imported(const Model& model, std::uint64_t handle, Origin at) noexcept;
  void named(const Books& books, const NamedByCall& named, Origin at) noexcept;
  void add_alive(const Model& model) noexcept;
  void rare_gone(const RarelyRetired& rare, Origin at) noexcept;

  std::string folder_;
  live::TimelineWriter writer_;
  bool finished_ = false;
  bool on_ = false;
};

/// Made readable, as a JSON object by id; "" where there are none.
std::string timeline_stacks_json(const std::vector<StackId>& stacks);

template <class CallStruct>
void Timeline::made(const Books& books, const CallStruct& call, Origin at) noexcept {
  if (!ready()) return;
  if constexpr (std::is_same_v<CallStruct, calls::MemAddressReserve>) {
    begin(Object::kReservation, *call.ptr, call.size, 0, 0, -1, at);
  } else if constexpr (std::is_same_v<CallStruct, calls::MemCreate>) {
    begin(Object::kAllocation, *call.handle, call.size, 0, 0, device_of(call.prop->location), at);
  } else if constexpr (std::is_same_v<CallStruct, calls::MemMap>) {
    begin(Object::kMapping, call.ptr, call.size, call.handle, call.offset, -1, at);
  } else if constexpr (std::is_same_v<CallStruct, calls::MemSetAccess>) {
    for (std::size_t i = 0; call.desc && i < call.count; ++i) {
      const CUmemAccessDesc& one = call.desc[i];
      const auto place = static_cast<std::uint64_t>(one.location.type) << 32 |
                         static_cast<std::uint32_t>(one.location.id);
      writer_.add({0, at.call, call.ptr, call.size, place, static_cast<std::uint64_t>(one.flags),
                   at.thread, at.stack, What::kAccess, Object::kMapping, -1, 0});
    }
  } else if constexpr (std::is_same_v<CallStruct, calls::ImportExternalMemory>) {
    imported(books.model, reinterpret_cast<std::uintptr_t>(*call.extMem_out), at);
  } else {
    NamedByCall names;
    call.visit(names);
    if constexpr (requires { call.shareableHandle; }) {
      if (call.handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        names.fd = *static_cast<const int*>(call.shareableHandle);
    }
    named(books, names, at);
  }
}

}  // namespace cuvmm::shim
