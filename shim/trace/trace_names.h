// SPDX-License-Identifier: Apache-2.0
// The names that a trace gives to the objects of calls: r0 for a reservation, h0 for a handle, fd0.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "api/calls.h"
#include "api/print.h"
#include "api/words.h"

namespace cuvmm::shim {

inline std::string offset_text(const std::string& name, std::uint64_t offset) {
  return offset == 0 ? name : name + "+" + number_text(offset);
}

class TraceNames : public ValueNames {
 public:
  std::string text(ParameterKind kind, std::uint64_t value) const override {
    switch (kind) {
      case ParameterKind::kAddress:
      case ParameterKind::kVoidAddress:
        return find(ranges_, value);
      case ParameterKind::kHostIn:
      case ParameterKind::kHostOut:
        return find(host_, value);
      case ParameterKind::kStream:
        // No trace has the program's streams: the default stream replaces each of them.
        return value > 2 ? "0" : "";
      case ParameterKind::kHandle:
        return find(handles_, value);
      case ParameterKind::kObject:
        return find(objects_, value);
      case ParameterKind::kInShareable:
        return find(descriptors_, value);
      default:
        return {};
    }
  }

  /// The value that got a name last.
  std::uint64_t last() const { return last_; }

  std::string name_range(std::uint64_t base, std::uint64_t size) {
    last_ = base;
    std::string name = "r" + std::to_string(next_range_++);
    ranges_[base] = {name, size};
    return name;
  }
  std::string name_host(const void* base, std::uint64_t size) {
    if (size == 0) return {};
    last_ = reinterpret_cast<std::uintptr_t>(base);
    std::string name = "b" + std::to_string(next_host_++);
    host_[reinterpret_cast<std::uintptr_t>(base)] = {name, size};
    return name;
  }
  std::string name_handle(std::uint64_t handle) {
    last_ = handle;
    return handles_[handle] = "h" + std::to_string(next_handle_++);
  }
  /// `letter` distinguishes the kinds of objects.
  std::string name_object(char letter, const void* object) {
    last_ = reinterpret_cast<std::uintptr_t>(object);
    return objects_[reinterpret_cast<std::uintptr_t>(object)] =
               letter + std::to_string(next_object_++);
  }
  /// The 64 bytes of a fabric handle, which programs copy: their content is what has the name.
  std::string name_fabric(const void* bytes) {
    last_ = reinterpret_cast<std::uintptr_t>(bytes);
    return fabrics_[content(bytes)] = "b" + std::to_string(next_host_++);
  }
  /// Gives the address that a call passes the name of the bytes there, which can be read.
  void find_fabric(const void* bytes) {
    const auto known = fabrics_.find(content(bytes));
    const auto address = reinterpret_cast<std::uintptr_t>(bytes);
    if (known == fabrics_.end()) {
      descriptors_.erase(address);
    } else {
      descriptors_[address] = known->second;
    }
  }
  std::string name_descriptor(std::uint64_t fd) {
    last_ = fd;
    return descriptors_[fd] = "fd" + std::to_string(next_descriptor_++);
  }

 private:
  struct Range {
    std::string name;
    std::uint64_t size;
  };
  static std::string content(const void* bytes) {
    constexpr std::size_t kFabricBytes = 64;
    return {static_cast<const char*>(bytes), kFabricBytes};
  }
  using Ranges = std::map<std::uint64_t, Range>;
  using Names = std::unordered_map<std::uint64_t, std::string>;
  static std::string find(const Ranges& ranges, std::uint64_t value) {
    auto range = ranges.upper_bound(value);
    if (range == ranges.begin()) return {};
    --range;
    const std::uint64_t offset = value - range->first;
    // The address one past the end is written relative to the range as well, because loops stop
    // there.
    return offset <= range->second.size ? offset_text(range->second.name, offset) : "";
  }
  static std::string find(const Names& names, std::uint64_t value) {
    const auto known = names.find(value);
    return known == names.end() ? std::string() : known->second;
  }
  Ranges ranges_, host_;
  std::uint64_t last_ = 0;
  Names handles_, descriptors_, objects_;
  std::unordered_map<std::string, std::string> fabrics_;
  unsigned next_range_ = 0, next_host_ = 0, next_handle_ = 0, next_descriptor_ = 0,
           next_object_ = 0;
};

/// Gives the out-value of a successful call its name; "" for a call that returns none.
struct ResultNamer {
  TraceNames& names;
  std::string operator()(const calls::MemAddressReserve& call) const {
    return names.name_range(*call.ptr, call.size);
  }
  std::string operator()(const calls::MemCreate& call) const {
    return names.name_handle(*call.handle);
  }
  std::string operator()(const calls::MulticastCreate& call) const {
    return names.name_handle(*call.mcHandle);
  }
  std::string operator()(const calls::MemImportFromShareableHandle& call) const {
    return names.name_handle(*call.handle);
  }
  std::string operator()(const calls::MemRetainAllocationHandle& call) const {
    return names.name_handle(*call.handle);
  }
  std::string operator()(const calls::MemExportToShareableHandle& call) const {
    return exported(call.handleType, call.shareableHandle);
  }
  std::string operator()(const calls::ImportExternalMemory& call) const {
    return names.name_object('m', *call.extMem_out);
  }
  std::string operator()(const calls::ExternalMemoryGetMappedBuffer& call) const {
    return names.name_range(*call.devPtr, call.bufferDesc->size);
  }
  std::string operator()(const calls::ImportExternalSemaphore& call) const {
    return names.name_object('s', *call.extSem_out);
  }
  // The call does not say how large opened and imported memory is.
  std::string operator()(const calls::IpcOpenMemHandle& call) const {
    return names.name_range(*call.pdptr, 0);
  }
  std::string operator()(const calls::MemPoolImportPointer& call) const {
    return names.name_range(*call.ptr_out, 0);
  }
  std::string operator()(const calls::MemAllocFromPoolAsync& call) const {
    return names.name_range(*call.dptr, call.bytesize);
  }
  std::string operator()(const calls::MemAllocAsync& call) const {
    return names.name_range(*call.dptr, call.bytesize);
  }
  std::string operator()(const calls::MemAlloc& call) const {
    return names.name_range(*call.dptr, call.bytesize);
  }
  std::string operator()(const calls::MemAllocPitch& call) const {
    return names.name_range(*call.dptr, *call.pPitch * call.Height);
  }
  std::string operator()(const calls::MemAllocManaged& call) const {
    return names.name_range(*call.dptr, call.bytesize);
  }
  std::string operator()(const calls::MemAllocHost& call) const {
    return names.name_host(*call.pp, call.bytesize);
  }
  std::string operator()(const calls::MemHostAlloc& call) const {
    return names.name_host(*call.pp, call.bytesize);
  }
  std::string operator()(const calls::MemPoolCreate& call) const {
    return names.name_object('q', *call.pool);
  }
  std::string operator()(const calls::MemPoolImportFromShareableHandle& call) const {
    return names.name_object('q', *call.pool_out);
  }
  std::string operator()(const calls::MemPoolExportToShareableHandle& call) const {
    return exported(call.handleType, call.handle_out);
  }
  template <class CallStruct>
  std::string operator()(const CallStruct&) const {
    return {};
  }

 private:
  std::string exported(CUmemAllocationHandleType type, const void* out) const {
    if (type == CU_MEM_HANDLE_TYPE_FABRIC) return names.name_fabric(out);
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return {};
    return names.name_descriptor(static_cast<std::uint64_t>(*static_cast<const int*>(out)));
  }
};

/// Looks at the bytes that a successful call read, before the call is written; whether it read any.
struct ArgumentNamer {
  TraceNames& names;
  bool operator()(const calls::MemImportFromShareableHandle& call) const {
    return imported(call.shHandleType, call.osHandle);
  }
  bool operator()(const calls::MemPoolImportFromShareableHandle& call) const {
    return imported(call.handleType, call.handle);
  }
  template <class CallStruct>
  bool operator()(const CallStruct&) const {
    return false;
  }

 private:
  bool imported(CUmemAllocationHandleType type, const void* handle) const {
    const bool fabric = type == CU_MEM_HANDLE_TYPE_FABRIC && handle;
    if (fabric) names.find_fabric(handle);
    return fabric;
  }
};

}  // namespace cuvmm::shim
