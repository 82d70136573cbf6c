// SPDX-License-Identifier: Apache-2.0
#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_address_range_test {
namespace {

CUdeviceptr out;

Violations reserve(World& w, calls::MemAddressReserve call) {
  if (!call.size) call.size = kGranule;
  if (!call.ptr) call.ptr = &out;
  return check(w.model, call);
}

// A range that was reserved, mapped, unmapped and released, but not freed.
void used_up(World& w, Address base, Handle handle) {
  w.mapped(base, 1, handle);
  w.unmap(base, 1);
  w.release(handle);
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kReservePtrNonnull,
       [](World& w, bool broken) {
         return check(w.model,
                      calls::MemAddressReserve{.ptr = broken ? nullptr : &out, .size = kGranule});
       }},
      {Rule::kReserveSizeNonzero,
       [](World& w, bool broken) {
         return check(w.model,
                      calls::MemAddressReserve{.ptr = &out, .size = broken ? 0 : kGranule});
       }},
      {Rule::kReserveSizePage,
       [](World& w, bool broken) {
         return reserve(w, {.size = broken ? kGranule + 1 : kGranule});
       }},
      {Rule::kReserveSizeGranularity,
       [](World& w, bool broken) {
         return reserve(w, {.size = broken ? kGranule + 4096 : 2 * kGranule});
       }},
      {Rule::kReserveAddrPage,
       [](World& w, bool broken) { return reserve(w, {.addr = broken ? kBase + 17 : kBase}); }},
      {Rule::kReserveAddrGranularity,
       [](World& w, bool broken) { return reserve(w, {.addr = broken ? kBase + 4096 : kBase}); }},
      {Rule::kReserveAddrAlignment,
       [](World& w, bool broken) {
         return reserve(w, {.alignment = 4 * kGranule, .addr = broken ? kBase + kGranule : kBase});
       }},
      {Rule::kReserveAddrUser,
       [](World& w, bool broken) {
         return reserve(w, {.addr = broken ? 0x8000'0000'0000 : 0x8000'0000'0000 - kGranule});
       }},
      {Rule::kReserveAddrUser,  // the end of the range is too high
       [](World& w, bool broken) {
         return reserve(
             w, {.size = (broken ? 5 : 4) * kGranule, .addr = 0x8000'0000'0000 - 4 * kGranule});
       }},
      {Rule::kReserveAlignmentPowerOfTwo,
       [](World& w, bool broken) {
         return reserve(w, {.alignment = broken ? 3 * kGranule : 4 * kGranule});
       }},
      {Rule::kReserveAlignmentLimit,
       [](World& w, bool broken) {
         return reserve(w, {.alignment = std::size_t{1} << (broken ? 46 : 45)});
       }},
      {Rule::kReserveAlignmentAddressable,
       [](World& w, bool broken) {
         return reserve(w, {.alignment = std::size_t{1} << (broken ? 63 : 45)});
       }},
      {Rule::kReserveCapacity,
       [](World& w, bool broken) {
         return reserve(w, {.size = (std::size_t{1} << 46) + (broken ? kGranule : 0)});
       }},
      {Rule::kReserveFlagsZero,
       [](World& w, bool broken) { return reserve(w, {.flags = broken ? 1u : 0u}); }},
      {Rule::kReserveLeak,  // ranges used in turn; the near miss maps into one of them again
       [](World& w, bool broken) {
         for (unsigned i = 0; i < 3; ++i) used_up(w, kBase + 4 * i * kGranule, 0x100 + i);
         if (!broken) {
           w.create(0x200, 1);
           w.map(kBase, 1, 0x200);
           w.unmap(kBase, 1);
           w.release(0x200);
         }
         return check_exit(w.model, [](const Export&) { return false; });
       }},
      {Rule::kReserveLeak,  // the near miss has two ranges, which a program may use in turn
       [](World& w, bool broken) {
         const unsigned count = broken ? 3 : 2;
         for (unsigned i = 0; i < count; ++i) used_up(w, kBase + 4 * i * kGranule, 0x100 + i);
         return check_exit(w.model, [](const Export&) { return false; });
       }},
      {Rule::kReserveLeak,  // the free failed
       [](World& w, bool broken) {
         w.reserve(kBase, 2);
         const calls::MemAddressFree wrong{.ptr = kBase, .size = kGranule};
         w.refuse(wrong);
         if (!broken) w.free(kBase, 2);
         return check_exit(w.model, [](const Export&) { return false; });
       }},
      {Rule::kFreePtrNonnull,
       [](World& w, bool broken) {
         w.reserve(kBase, 2);
         return check(w.model,
                      calls::MemAddressFree{.ptr = broken ? 0 : kBase, .size = 2 * kGranule});
       }},
      {Rule::kFreeExact,
       [](World& w, bool broken) {
         w.reserve(kBase, 2);
         return check(w.model,
                      calls::MemAddressFree{.ptr = kBase, .size = (broken ? 1 : 2) * kGranule});
       }},
      {Rule::kFreeExact,  // a second free
       [](World& w, bool broken) {
         w.reserve(kBase, 2);
         if (broken) w.free(kBase, 2);
         return check(w.model, calls::MemAddressFree{.ptr = kBase, .size = 2 * kGranule});
       }},
      {Rule::kFreeExact,  // an address in the middle
       [](World& w, bool broken) {
         w.reserve(kBase, 2);
         return check(w.model, calls::MemAddressFree{.ptr = broken ? kBase + kGranule : kBase,
                                                     .size = 2 * kGranule});
       }},
      {Rule::kFreeUnmapped,
       [](World& w, bool broken) {
         w.mapped(kBase, 2);
         if (!broken) w.unmap(kBase, 2);
         return check(w.model, calls::MemAddressFree{.ptr = kBase, .size = 2 * kGranule});
       }},
  };
}
const ListedCases kListed(cases);

}  // namespace
}  // namespace cuvmm::testing::check_address_range_test
