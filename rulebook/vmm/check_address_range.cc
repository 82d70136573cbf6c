// SPDX-License-Identifier: Apache-2.0
// cuMemAddressReserve and cuMemAddressFree.
#include "rulebook/check/check_support.h"

namespace cuvmm {
using namespace detail;

namespace {
constexpr std::uint64_t kTwoMiB = std::uint64_t{2} << 20;
// User space of x86-64 and aarch64 with four-level tables ends at 2^47; the H200's driver refused
// higher addresses only.
constexpr std::uint64_t kUserSpaceEnd = std::uint64_t{1} << 47;
constexpr std::uint64_t kAlignmentLimit = std::uint64_t{1} << 46;
// The H200's driver answers OUT_OF_MEMORY at 2^48 and INVALID_VALUE at 2^62; nothing between them
// was measured.
constexpr std::uint64_t kUnaddressable = std::uint64_t{1} << 62;
}  // namespace

Violations check(const Model& model, const calls::MemAddressReserve& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  const Platform& platform = model.platform();
  const std::uint64_t demanded =
      platform.reserve_granularity ? platform.reserve_granularity : kTwoMiB;

  if (!call.ptr) out.add(Rule::kReservePtrNonnull, "ptr is NULL");
  if (call.flags != 0)
    out.add(Rule::kReserveFlagsZero, "flags is " + hex_text(call.flags) + ", not 0");
  if (call.size == 0) {
    out.add(Rule::kReserveSizeNonzero, "size is 0");
  } else if (call.size % platform.host_page != 0) {
    out.add(Rule::kReserveSizePage, "size " + std::to_string(call.size) +
                                        " is not a multiple of the host page, " +
                                        size_text(platform.host_page));
  } else if (call.size % demanded != 0) {
    out.add(Rule::kReserveSizeGranularity,
            "size " + size_text(call.size) + " is not a multiple of " + size_text(demanded), false);
  }
  // Zero has no bit; std::has_single_bit() is a call where the target has no instruction for it.
  if ((call.alignment & (call.alignment - 1)) != 0) {
    out.add(Rule::kReserveAlignmentPowerOfTwo,
            "alignment " + std::to_string(call.alignment) + " is not a power of two");
  } else if (call.alignment != 0 && call.addr % call.alignment != 0) {
    out.add(Rule::kReserveAddrAlignment, "hint " + hex_text(call.addr) +
                                             " is not a multiple of the alignment asked for, " +
                                             size_text(call.alignment));
  }
  if (call.alignment >= kUnaddressable) {
    out.add(Rule::kReserveAlignmentAddressable,
            "alignment " + hex_text(call.alignment) + " is 2^62 or more", false);
  } else if (call.alignment >= kAlignmentLimit) {
    out.add(Rule::kReserveAlignmentLimit,
            "alignment " + size_text(call.alignment) +
                " leaves no room for a range in the address space",
            false);
  }
  if (call.addr % platform.host_page != 0) {
    out.add(Rule::kReserveAddrPage, "hint " + hex_text(call.addr) +
                                        " is not a multiple of the host page, " +
                                        size_text(platform.host_page));
  } else if (call.addr % demanded != 0) {
    out.add(Rule::kReserveAddrGranularity,
            "hint " + hex_text(call.addr) + " is not a multiple of " + size_text(demanded), false);
  } else if (call.addr >= kUserSpaceEnd) {
    out.add(Rule::kReserveAddrUser,
            "hint " + hex_text(call.addr) + " is outside the user address space", false);
  } else if (call.addr != 0 && call.size > kUserSpaceEnd - call.addr) {
    out.add(Rule::kReserveAddrUser,
            size_text(call.size) + " at the hint " + hex_text(call.addr) +
                " reach past the user address space, which ends at " + hex_text(kUserSpaceEnd),
            false);
  }
  if (platform.max_reservation != 0 && call.size > platform.max_reservation) {
    out.add(Rule::kReserveCapacity, "size " + size_text(call.size) +
                                        " exceeds what can be reserved, " +
                                        size_text(platform.max_reservation));
  }
  return out.take();
}

Violations check(const Model& model, const calls::MemAddressFree& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (call.ptr == 0) {
    out.add(Rule::kFreePtrNonnull, "ptr is 0");
    return out.take();
  }
  const Reservation* r = model.reservation_at(call.ptr);
  if (!r) {
    const auto ended_object =
        model.tombstones().find_covering(ObjectRef::Kind::kReservation, call.ptr);
    Violation& v =
        out.add(Rule::kFreeExact,
                hex_text(call.ptr) + (ended_object ? " is in a reservation that was freed already"
                                                   : " is in no live reservation"),
                certainly_not_reserved(model, call.ptr));
    if (ended_object) v.objects.push_back(*ended_object);
    return out.take();
  }
  if (r->base != call.ptr || r->size != call.size) {
    out.add(Rule::kFreeExact,
            range(call.ptr, call.size) + " is not the whole reservation " + range(r->base, r->size))
        .objects.push_back(ref(*r));
  }
  // The size of the reservation, not the passed size, because the driver looks at the reservation.
  auto mapped = model.first_mapping_after(r->base);
  if (r->base == call.ptr && mapped != model.mappings().end() &&
      overlap(mapped->second.base, mapped->second.size, r->base, r->size)) {
    Violation& v =
        out.add(Rule::kFreeUnmapped, "the reservation still holds the mapping " +
                                         range(mapped->second.base, mapped->second.size));
    v.objects.push_back(ref(mapped->second));
    v.objects.push_back(ref(*r));
  }
  return out.take();
}

}  // namespace cuvmm
