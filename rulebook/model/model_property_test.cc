// SPDX-License-Identifier: Apache-2.0
// The model against a deliberately naive one: an array with one slot per granule.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

#include "rulebook/testing/world.h"

namespace cuvmm::testing {
namespace {

constexpr std::size_t kSlots = 24;

// The contents of each granule of the address space; handles are 1-based indices of `sizes`.
struct Flat {
  struct Slot {
    int reservation = 0;
    int mapping = 0;  // number of the map call
    Handle handle = 0;
    bool write = false;
  };
  std::array<Slot, kSlots> slots;
  int next = 1;

  bool cuts(std::size_t begin, std::size_t end) const {
    const auto split = [&](std::size_t at) {
      return at > 0 && at < kSlots && slots[at].mapping != 0 &&
             slots[at].mapping == slots[at - 1].mapping;
    };
    return split(begin) || split(end);
  }
};

RC_GTEST_PROP(ModelProperty, AgreesWithOneSlotPerGranule, ()) {
  World w;
  Flat flat;
  w.reserve(kBase, kSlots);
  for (auto& slot : flat.slots) slot.reservation = 1;
  Handle next_handle = 0x100;
  const int steps = *rc::gen::inRange(1, 40);
  for (int step = 0; step < steps; ++step) {
    const auto begin = *rc::gen::inRange<std::size_t>(0, kSlots);
    const auto end = *rc::gen::inRange<std::size_t>(begin + 1, kSlots + 1);
    const Address ptr = kBase + begin * kGranule;
    const std::uint64_t granules = end - begin;
    switch (*rc::gen::inRange(0, 3)) {
      case 0: {  // map a new allocation
        bool taken = false;
        for (std::size_t i = begin; i < end; ++i) taken |= flat.slots[i].mapping != 0;
        const Handle h = w.create(next_handle++, granules);
        const Violations v =
            check(w.model, calls::MemMap{.ptr = ptr, .size = granules * kGranule, .handle = h});
        RC_ASSERT(v.empty() == !taken);
        if (taken) break;
        w.map(ptr, granules, h);
        for (std::size_t i = begin; i < end; ++i) flat.slots[i] = {1, flat.next, h, false};
        ++flat.next;
        break;
      }
      case 1: {  // unmap
        bool hole = false;
        for (std::size_t i = begin; i < end; ++i) hole |= flat.slots[i].mapping == 0;
        const bool cut = flat.cuts(begin, end);
        const Violations v =
            check(w.model, calls::MemUnmap{.ptr = ptr, .size = granules * kGranule});
        RC_ASSERT(v.empty() == (!hole && !cut));
        RC_ASSERT(cut == (!v.empty() && v[0].rule == Rule::kUnmapWhole));
        w.unmap(ptr, granules);
        for (std::size_t i = begin; !cut && i < end; ++i) flat.slots[i] = {1, 0, 0, false};
        break;
      }
      default: {  // access, then a write of every byte
        bool hole = false;
        bool whole_access = true;
        for (std::size_t i = begin; i < end; ++i) {
          hole |= flat.slots[i].mapping == 0;
          whole_access &= flat.slots[i].write;
        }
        RC_ASSERT(
            check_data(w, calls::MemsetD8{.dstDevice = ptr, .N = granules * kGranule}).empty() ==
            whole_access);
        const CUmemAccessDesc desc = access_desc();
        const bool cut = flat.cuts(begin, end);
        const bool ok =
            check(w.model,
                  calls::MemSetAccess{
                      .ptr = ptr, .size = granules * kGranule, .desc = &desc, .count = 1})
                .empty();
        RC_ASSERT(ok == (!hole && !cut));
        if (!ok) break;
        w.access(ptr, granules);
        for (std::size_t i = begin; i < end; ++i) flat.slots[i].write = true;
      }
    }
    for (std::size_t i = 0; i < kSlots; ++i) {
      const Mapping* m = w.model.mapping_at(kBase + i * kGranule + 1);
      RC_ASSERT((m ? m->handle : 0) == flat.slots[i].handle);
    }
  }
}

}  // namespace
}  // namespace cuvmm::testing
