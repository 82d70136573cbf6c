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
      {Rule::kReserveAddrUser,  // the end of the range is too high
       [](World& w, bool broken) {
         return reserve(
             w, {.size = (broken ? 5 : 4) * kGranule, .addr = 0x8000'0000'0000 - 4 * kGranule});
       }},
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
  };
}
const ListedCases kListed(cases);

}  // namespace
}  // namespace cuvmm::testing::check_address_range_test
