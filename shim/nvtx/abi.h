// SPDX-License-Identifier: Apache-2.0
// The parts of NVTX 3 that a tool of it needs to know, declared here. A program contains NVTX's
// functions, by the headers; each of these copies looks for a tool at its first call
// (NVTX_INJECTION64_PATH), and lets the tool fill in tables of function pointers. Layouts and
// numbers are those of nvtx3/nvtxDetail/ nvtxTypes.h, nvtx3/nvToolsExt.h and nvtx3/nvToolsExtMem.h;
// shim/nvtx/abi_test.cc compares them with these headers if they are installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuvmm::shim::nvtx {

// --- The functions of a program's copy

using Function = void (*)();
using GetExportTable = const void* (*)(std::uint32_t table);
inline constexpr std::uint32_t kCallbacksTable = 1;

struct CallbacksTable {
  std::size_t size;
  /// Finds one module's table: an array of pointers to function pointers. Returns 1 if the module
  /// exists.
  int (*functions)(int module, Function*** table, unsigned* count);
};

inline constexpr int kModuleCore = 1;
inline constexpr int kModuleCore2 = 5;

enum Core : unsigned {
  kRangeStartEx = 4,
  kRangeStartA,
  kRangeStartW,
  kRangeEnd,
  kRangePushEx,
  kRangePushA,
  kRangePushW,
  kRangePop,
};

enum Core2 : unsigned {
  kDomainRangeStartEx = 2,
  kDomainRangeEnd,
  kDomainRangePushEx,
  kDomainRangePop,
  kDomainRegisterStringA = 10,
  kDomainRegisterStringW,
  kDomainCreateA,
  kDomainCreateW,
};

enum MessageType : std::int32_t { kNoMessage = 0, kAscii = 1, kUnicode = 2, kRegistered = 3 };

union Message {
  const char* ascii;
  const wchar_t* wide;
  const void* registered;
};

struct EventAttributes {
  std::uint16_t version, size;
  std::uint32_t category;
  std::int32_t color_type;
  std::uint32_t color;
  std::int32_t payload_type, reserved;
  std::uint64_t payload;
  std::int32_t message_type;
  Message message;
};

// --- Extensions

struct ExtensionSegment {
  std::size_t id, count;
  std::intptr_t* slots;
};

struct ExtensionModule {
  std::uint16_t nvtx_version, size, module, compatibility;
  std::size_t segment_count;
  ExtensionSegment* segments;
  const void* get_export;
  const void* info;
};

inline constexpr std::uint16_t kMemoryModule = 1;

enum MemoryFunction : unsigned {
  kHeapRegister = 0,
  kHeapUnregister,
  kHeapReset,
  kRegionsRegister,
  kRegionsResize,
  kRegionsUnregister,
  kRegionsName,
};

inline constexpr std::uint32_t kVirtualAddress = 1;  ///< a type of memory

struct VirtualRange {
  std::size_t size;
  const void* pointer;
};

struct HeapDescription {
  std::uint16_t compatibility, size;
  std::uint32_t reserved, usage, type;
  std::size_t range_size;
  const void* range;
  std::uint32_t category, message_type;
  Message message;
};

struct RegionsRegister {
  std::uint16_t compatibility, size;
  std::uint32_t type;
  const void* heap;
  std::size_t count, element_size;
  const void* elements;  ///< of VirtualRange
  const void** handles;  ///< filled with the tool's handles for the regions, or null
};

struct RegionsResize {
  std::uint16_t compatibility, size;
  std::uint32_t type;
  std::size_t count, element_size;
  const void* elements;
};

struct RegionsUnregister {
  std::uint16_t compatibility, size;
  std::uint32_t reference_type;
  std::size_t count, element_size;
  const void* elements;  ///< of pointers: an address or a handle
};

struct RegionName {
  std::uint32_t reference_type, name_type;
  const void* region;
  Message name;
  std::uint32_t category, reserved;
};

struct RegionsName {
  std::uint16_t compatibility, size;
  std::uint32_t reserved;
  std::size_t count, element_size;
  const void* elements;  ///< of RegionName
  std::size_t reserved_too;
};

}  // namespace cuvmm::shim::nvtx
