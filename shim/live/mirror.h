// SPDX-License-Identifier: Apache-2.0
// The model as others may look at it while the program runs (live/format.h): what a call changed is
// written again. Only where CUVMM_LIVE names a folder.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "live/writer.h"
#include "shim/live/named_by_call.h"
#include "shim/session/books.h"

namespace cuvmm::shim {

/// Called with the session's lock.
class Mirror {
 public:
  /// From the first change on there is a file in this folder; `driver` is the libcuda's path.
  void choose(const std::string& folder, const std::string& driver);
  /// Whether changes are to be told.
  bool on() const { return on_; }
  /// Where it is shown; "" where it is not.
  std::string folder() const { return on_ ? folder_ : std::string(); }
  /// The file goes, as its process does.
  void finish() noexcept;
  /// In a child of fork: the parent's file stays the parent's.
  void restart_in_child() noexcept;

  /// The call made or changed what it names.
  template <class CallStruct>
  void made(const Books& books, const CallStruct& call, Origin at) noexcept {
    NamedByCall named;
    call.visit(named);
    if constexpr (requires { call.shareableHandle; }) {
      if (call.handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        named.fd = *static_cast<const int*>(call.shareableHandle);
    } else if constexpr (std::is_same_v<CallStruct, calls::MemImportFromShareableHandle>) {
      if (call.shHandleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        named.fd = static_cast<int>(reinterpret_cast<std::intptr_t>(call.osHandle));
    } else if constexpr (std::is_same_v<CallStruct, calls::MemGetHandleForAddressRange>) {
      // Not the range's: nothing of it has changed.
      named = {};
      if (call.handleType == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD)
        named.fd = *static_cast<const int*>(call.handle);
    }
    show(books, named, at);
  }
  /// The call changed this multicast object.
  void team(const Books& books, Handle object) noexcept;
  /// The program closed this descriptor.
  void closed(const Books& books, int fd, Origin at) noexcept {
    NamedByCall named;
    named.fd = fd;
    show(books, named, at);
  }
  /// It took this out of the model, or put it back.
  void gone(const Books& books, const Retired& retired, Origin at) noexcept;

 private:
  void show(const Books& books, const NamedByCall& named, Origin at) noexcept;
  // Each of them shows the object as the model has it now.
  void put(const Reservation& r);
  void put(const Mapping& m);
  void reservation(const Model& model, Address base);
  void mapping(const Model& model, Address base);
  void memory(const Books& books, Handle handle);
  void descriptor(const Books& books, int fd);
  void received(const Books& books, int fd);
  void piece(const Model& model, std::uint64_t base);
  void stack(const Origin& made);
  void start(const Books& books);
  void all(const Books& books);
  void stop() noexcept;

  bool on_ = false;
  bool started_ = false;
  bool teams_ = false;  ///< there was a multicast object
  std::string folder_, driver_;
  std::string path_;
  live::Writer writer_;
  /// Names that exported memory has for every process, by handle: they outlive its descriptors.
  std::unordered_map<Handle, std::uint64_t> exported_;
};

}  // namespace cuvmm::shim
