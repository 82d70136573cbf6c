// SPDX-License-Identifier: Apache-2.0
// A small process for tests: performs calls on a Model as if a driver had accepted them.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <ostream>
#include <string>
#include <vector>

#include "api/sizes.h"
#include "rulebook/check/check.h"
#include "rulebook/check/touch.h"

namespace cuvmm::testing {

inline constexpr Address kBase = 0x7000'0000'0000;
inline constexpr Size kPlainSize = 64 << 10;

inline CUmemAllocationProp device_prop(int device = 0, unsigned handle_types = 0) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  prop.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(handle_types);
  return prop;
}

inline CUmemAccessDesc access_desc(unsigned flags = 3, int device = 0, int type = 1) {
  CUmemAccessDesc desc{};
  desc.location.type = static_cast<CUmemLocationType>(type);
  desc.location.id = device;
  desc.flags = static_cast<CUmemAccess_flags>(flags);
  return desc;
}

/// Two devices: device 0 can access memory of device 1, but device 1 cannot access memory of device
/// 0. One NUMA node; descriptors are the only handle type. Complete by default: an object that the
/// model does not know does not exist.
struct World {
  World() : model(platform()) {}

  static Platform platform() {
    Platform p;
    p.device_count = 2;
    p.reserve_granularity = kGranule;
    p.max_reservation = std::uint64_t{1} << 46;
    p.handle_types = 1;
    p.fabric_channel_known = true;
    p.numa_nodes = 1;
    p.reach = {0b11, 0b10};
    p.multicast_known = true;
    p.multicast = 0b11;
    p.complete = true;
    return p;
  }

  Origin at() { return {.call = ++calls, .stack = 0}; }

  Address reserve(Address base, std::uint64_t granules) {
    CUdeviceptr out = base;
    accept(calls::MemAddressReserve{.ptr = &out, .size = granules * kGranule});
    return base;
  }
  Handle create(Handle handle, std::uint64_t granules, CUmemAllocationProp prop = device_prop()) {
    Handle out = handle;
    Facts facts;
    facts.unicast.granularity = kGranule;
    accept(calls::MemCreate{.handle = &out, .size = granules * kGranule, .prop = &prop}, facts);
    return handle;
  }
  Handle import(Handle handle, std::uint64_t granules) {
    Handle out = handle;
    Facts facts;
    facts.sharing.imported = {.size = granules * kGranule,
                              .granularity = kGranule,
                              .prop = device_prop(),
                              .prop_known = true};
    calls::MemImportFromShareableHandle call;
    call.handle = &out;
    accept(call, facts);
    return handle;
  }
  void map(Address ptr, std::uint64_t granules, Handle handle) {
    accept(calls::MemMap{.ptr = ptr, .size = granules * kGranule, .handle = handle});
  }
  void access(Address ptr, std::uint64_t granules, unsigned flags = 3, int device = 0,
              int type = 1) {
    const CUmemAccessDesc desc = access_desc(flags, device, type);
    accept(calls::MemSetAccess{.ptr = ptr, .size = granules * kGranule, .desc = &desc, .count = 1});
  }
  void unmap(Address ptr, std::uint64_t granules) {
    accept(calls::MemUnmap{.ptr = ptr, .size = granules * kGranule});
  }
  void release(Handle handle) { accept(calls::MemRelease{.handle = handle}); }
  void free(Address ptr, std::uint64_t granules) {
    accept(calls::MemAddressFree{.ptr = ptr, .size = granules * kGranule});
  }
  void retain(Handle handle) {
    Handle out = handle;
    calls::MemRetainAllocationHandle call;
    call.handle = &out;
    accept(call);
  }
  void export_fd(Handle handle, int fd) {
    calls::MemExportToShareableHandle call;
    call.shareableHandle = &fd;
    call.handle = handle;
    call.handleType = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    accept(call);
  }
  /// A mapping of `granules` at `base`, with read-write access for device 0.
  Handle mapped(Address base, std::uint64_t granules, Handle handle = 0x100) {
    reserve(base, granules);
    create(handle, granules);
    map(base, granules, handle);
    access(base, granules);
    return handle;
  }

  /// 64 KiB of cuMemAlloc, in context 7 of device 0.
  Address plain(Address base) {
    CUdeviceptr out = base;
    Facts facts;
    facts.place.context = Facts::Answer::kYes;
    facts.place.context_id = 7;
    facts.place.device = 0;
    accept(calls::MemAlloc{.dptr = &out, .bytesize = kPlainSize}, facts);
    return base;
  }

  /// A multicast object for `team` devices.
  Handle multicast(Handle handle, unsigned team = 2, std::uint64_t granules = 4,
                   unsigned long long types = 0) {
    Handle out = handle;
    CUmulticastObjectProp prop{};
    prop.numDevices = team;
    prop.size = granules * kGranule;
    prop.handleTypes = types;
    Facts facts;
    facts.multicast.granularity = facts.multicast.recommended = kGranule;
    accept(calls::MulticastCreate{.mcHandle = &out, .prop = &prop}, facts);
    return handle;
  }
  void add(Handle object, int device) {
    accept(calls::MulticastAddDevice{.mcHandle = object, .dev = device});
  }
  void bind(Handle object, std::uint64_t granule, Handle memory, std::uint64_t granules = 1) {
    accept(calls::MulticastBindMem{.mcHandle = object,
                                   .mcOffset = granule * kGranule,
                                   .memHandle = memory,
                                   .memOffset = 0,
                                   .size = granules * kGranule});
  }

  /// The driver accepted the call.
  template <class CallStruct>
  void accept(const CallStruct& call, const Facts& facts, Origin now) {
    ChangeOf<CallStruct> change;
    model.begin(call, now, change);
    model.confirm(call, facts, now, change);
  }
  template <class CallStruct>
  void accept(const CallStruct& call, const Facts& facts = {}) {
    accept(call, facts, at());
  }
  /// The driver refused the call.
  template <class CallStruct>
  void refuse(const CallStruct& call, Origin now) {
    ChangeOf<CallStruct> change;
    model.begin(call, now, change);
    model.undo(call, now, change);
  }
  template <class CallStruct>
  void refuse(const CallStruct& call) {
    refuse(call, at());
  }

  Model model;
  std::uint64_t calls = 0;
};

/// Any copy or fill, checked as the shim and the emulator do.
template <class CallStruct>
Violations check_data(const World& world, const CallStruct& call, Facts facts = {}) {
  if (facts.place.device == Facts::kUnknownDevice) facts.place.device = 0;
  Touch touched[kMaxTouches];
  const std::size_t count = touches(call, touched);
  return check_touches(world.model, CallStruct::kEntryPoint, touched, count, facts);
}

/// One rule: run(world, true) breaks it; run(world, false) does the same except the one thing that
/// breaks the rule.
struct RuleCase {
  Rule rule;
  Violations (*run)(World& world, bool broken);
};
/// Names the case in test names. GoogleTest would print its bytes.
inline void PrintTo(const RuleCase& one, std::ostream* out) { *out << info(one.rule).id; }

/// The cases of a file: `const ListedCases kListed(cases);` adds them to the cases that
/// check_test.cc runs. All files together cover every rule that a program can check.
class ListedCases {
 public:
  using Cases = std::vector<RuleCase> (*)();
  explicit ListedCases(Cases cases) noexcept : cases_(cases), next_(first()) { first() = this; }
  static std::vector<RuleCase> all() {
    std::vector<RuleCase> all;
    for (const ListedCases* one = first(); one; one = one->next_) {
      const std::vector<RuleCase> cases = one->cases_();
      all.insert(all.end(), cases.begin(), cases.end());
    }
    // Sorted, because the linker chooses the order of the files.
    std::stable_sort(all.begin(), all.end(),
                     [](const RuleCase& a, const RuleCase& b) { return a.rule < b.rule; });
    return all;
  }

 private:
  static const ListedCases*& first() noexcept {
    static const ListedCases* first = nullptr;
    return first;
  }

  Cases cases_;
  const ListedCases* next_;
};

}  // namespace cuvmm::testing
