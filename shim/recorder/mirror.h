// SPDX-License-Identifier: Apache-2.0
// Shows the model to other processes while the program runs (recorder/holdings/format.h): writes
// each object again that a call changed. Works only if CUVMM_LIVE names a folder.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "recorder/holdings/writer.h"
#include "shim/history/process_history.h"
#include "shim/recorder/named_by_call.h"

namespace cuvmm::shim {

/// Called with the session's lock.
class Mirror {
 public:
  /// Makes a file in this folder at the first change; `driver` is the libcuda's path.
  void choose(const std::string& folder, const std::string& driver);
  /// Whether changes are to be written.
  bool on() const { return on_; }
  /// The folder of the file; "" if there is none.
  std::string folder() const { return on_ ? folder_ : std::string(); }
  /// Removes the file when the process ends.
  void finish() noexcept;
  /// Called in a child of fork: the parent goes on to write its file.
  void restart_in_child() noexcept;

  /// The call made or changed the objects that it names, or the session undid such a change.
  template <class CallStruct>
  void show_made(const ProcessHistory& history, const CallStruct& call, Origin at) noexcept {
    if constexpr (std::is_same_v<CallStruct, calls::MemAddressReserve>) {
      reserved(history, *call.ptr, at);
    } else if constexpr (std::is_same_v<CallStruct, calls::MemCreate>) {
      created(history, *call.handle, at);
    } else if constexpr (std::is_same_v<CallStruct, calls::MemRetainAllocationHandle>) {
      retained(history, *call.handle, at);
    } else if constexpr (std::is_same_v<CallStruct, calls::MemMap>) {
      mapped(history, call.ptr, call.handle, at);
    } else if constexpr (std::is_same_v<CallStruct, calls::MemSetAccess>) {
      access_changed(history, call.ptr, call.size, at);
    } else {
      NamedByCall named = named_by(call);
      if constexpr (std::is_same_v<CallStruct, calls::MemImportFromShareableHandle>) {
        if (call.shHandleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
          named.fd = static_cast<int>(reinterpret_cast<std::intptr_t>(call.osHandle));
      } else if constexpr (std::is_same_v<CallStruct, calls::MemGetHandleForAddressRange>) {
        // Only the descriptor is new: the call has not changed the range.
        named = {};
        if (call.handleType == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD)
          named.fd = *static_cast<const int*>(call.handle);
      }
      show(history, named, at);
    }
  }
  /// The call changed this multicast object.
  void show_team(const ProcessHistory& history, Handle object) noexcept;
  /// The program closed this descriptor.
  void show_closed(const ProcessHistory& history, int fd, Origin at) noexcept {
    NamedByCall named;
    named.fd = fd;
    show(history, named, at);
  }
  /// The call has just taken `retired` out of the model: no other thread can have put it back.
  template <class CallStruct>
  void show_taken(const ProcessHistory& history, const CallStruct&, const Retired& retired,
                  Origin at) noexcept {
    if constexpr (std::is_same_v<CallStruct, calls::MemRelease>) {
      released(history, retired, at);
    } else if constexpr (std::is_same_v<CallStruct, calls::MemUnmap>) {
      unmapped(history, retired, at);
    } else if constexpr (std::is_same_v<CallStruct, calls::MemAddressFree>) {
      freed(history, retired, at);
    } else {
      show_again(history, retired, at);
    }
  }
  /// The call took `retired` out, or put it back: the file shows the objects as they are in the
  /// model.
  void show_again(const ProcessHistory& history, const Retired& retired, Origin at) noexcept;

 private:
  void show(const ProcessHistory& history, const NamedByCall& named, Origin at) noexcept;
  // The calls of a block's life are as cheap as they can be, because a driver's call may take only
  // 0.3 us.
  [[gnu::hot]] void reserved(const ProcessHistory& history, Address base, Origin at) noexcept;
  [[gnu::hot]] void created(const ProcessHistory& history, Handle handle, Origin at) noexcept;
  [[gnu::hot]] void retained(const ProcessHistory& history, Handle handle, Origin at) noexcept;
  [[gnu::hot]] void mapped(const ProcessHistory& history, Address base, Handle handle,
                           Origin at) noexcept;
  [[gnu::hot]] void access_changed(const ProcessHistory& history, Address base, Size size,
                                   Origin at) noexcept;
  [[gnu::hot]] void released(const ProcessHistory& history, const Retired& retired,
                             Origin at) noexcept;
  [[gnu::hot]] void unmapped(const ProcessHistory& history, const Retired& retired,
                             Origin at) noexcept;
  [[gnu::hot]] void freed(const ProcessHistory& history, const Retired& retired,
                          Origin at) noexcept;
  // Every change gets to the file through this function: `change` may throw std::bad_alloc.
  template <class Change>
  [[gnu::always_inline]] inline void note(const ProcessHistory& history, Origin at,
                                          const Change& change) noexcept;
  void drop_memory(Handle handle);
  // The memory has gained or lost a reference or a mapping.
  void counted(const ProcessHistory& history, Handle handle);
  void lost(const ProcessHistory& history, const Allocation& before);
  void mapped_in(const Reservation& r);
  // Each of these writes the object as it is in the model now.
  void put(const Reservation& r);
  void put(const Mapping& m);
  void reservation(const Model& model, Address base);
  void mapping(const Model& model, Address base);
  void memory(const ProcessHistory& history, Handle handle);
  void descriptor(const ProcessHistory& history, int fd);
  void received(const ProcessHistory& history, int fd);
  void piece(const Model& model, std::uint64_t base);
  void stack(const Origin& made);
  [[gnu::cold, gnu::noinline]] void start(const ProcessHistory& history);
  void all(const ProcessHistory& history);
  [[gnu::cold, gnu::noinline]] void stop() noexcept;

  bool on_ = false;
  bool started_ = false;
  bool teams_ = false;                  ///< the program made a multicast object
  std::uint64_t* last_call_ = nullptr;  ///< holdings::Writer::last_call()
  holdings::Writer writer_;
  std::string folder_, driver_;
  std::string path_;
  /// The names of exported memory, equal in every process, by handle: they outlive the memory's
  /// descriptors.
  std::unordered_map<Handle, std::uint64_t> exported_;
};

}  // namespace cuvmm::shim
