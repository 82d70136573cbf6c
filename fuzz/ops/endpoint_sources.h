// SPDX-License-Identifier: Apache-2.0
// Sources of the parameters of calls about logical endpoints and fabric copies.
#pragma once

#include "api/newer/endpoint.h"
#include "fuzz/ops/structure_sources.h"

namespace cuvmm::fuzz::source {

/// One of the ids that begin at a name.
struct EndpointId : Source {
  static constexpr NameKind kRef = kEndpoint;
  static constexpr Op kUses{.ref = kAll, .extra = kEndpointIds - 1};
  static std::uint64_t value(const Op& op, const Operands& o) { return o.first + op.extra; }
  static std::string text(const Op& op, const WrittenNames& names) {
    return text_of(names.text(kEndpoint, op.ref), op.extra);
  }
  static void read(Op& op, const Argued& argued);
  /// "e1+4K"; without the name where it is not bound.
  static std::string text_of(const std::string& name, std::uint64_t added);
};

/// A CUlogicalEndpointProp: see endpoint_type() and what follows it.
struct EndpointProperties : Source {
  static constexpr Op kUses{
      .size = kAll, .odd_size = kAll, .flags = 3, .place = kAll, .value = 0x7f};
  static void canonicalise(Op& op);
  static CUlogicalEndpointProp value(const Op& op, const Operands&);
  static std::string text(const Op& op, const WrittenNames& names);
  static void read(Op& op, const Argued& argued);
};

struct EndpointHandleType : Source {
  static constexpr Op kUses{.value = 3};
  static std::uint64_t value(const Op& op, const Operands&) { return op.value & 3; }
  static std::string text(const Op& op, const WrittenNames&) { return number_text(op.value & 3); }
  static void read(Op& op, const Argued& argued);
};

/// 64 bytes that an earlier call gave, or, with a bit of `flags`, bytes that no driver wrote.
struct EndpointBytes : Bytes<2> {
  static constexpr std::uint8_t kMadeUp = 1;
  static constexpr Op kUses{.ref2 = kAll, .flags = kMadeUp};
  static void canonicalise(Op& op) {
    if (op.flags & kMadeUp) op.ref2 = 0;
  }
  static Blob value(const Op& op, const Operands& o);
  static std::string text(const Op& op, const WrittenNames& names);
  static void read(Op& op, const Argued& argued);
};

/// Where a call that has two outputs writes the second.
struct SecondOut : Source {
  static constexpr Op kUses{.faults = kNullSecond};
  static void* value(const Op& op, const Operands& o) {
    return op.faults & kNullSecond ? nullptr : o.memory.out + sizeof o.memory.out / 2;
  }
  static std::string text(const Op& op, const WrittenNames&) {
    return op.faults & kNullSecond ? "null" : "";
  }
  static void read(Op& op, const Argued& argued) {
    if (argued.null()) op.faults |= kNullSecond;
  }
};

/// How many copies of the list the call makes.
struct FabricCount : Source {
  static constexpr Op kUses{.odd_size = kAll};
  static void canonicalise(Op& op) { op.odd_size = wrapped(op.odd_size, kNoCopies + 1); }
  static std::uint64_t value(const Op& op, const Operands&) { return count(op); }
  static std::string text(const Op& op, const WrittenNames&) { return number_text(count(op)); }
  static void read(Op& op, const Argued& argued) {
    if (argued.number() == 0) op.odd_size = kNoCopies;
  }

 private:
  static std::uint64_t count(const Op& op) {
    return op.odd_size == kOneCopy ? 1 : op.odd_size == kNoCopies ? 0 : 2;
  }
};

/// The copies of a batch. The op's first reference is an endpoint, the second a pointer. Where both
/// sides are of one type, the source has that type's distance and the destination the other one.
struct FabricOps : Source {
  static constexpr NameKind kRef = kEndpoint, kRef2 = kRange;
  static constexpr Op kUses{.ref = kAll,
                            .ref2 = kAll,
                            .at = kAll,
                            .odd = kAll,
                            .at2 = kAll,
                            .odd2 = kAll,
                            .size = kAll,
                            .odd_size = kAll,
                            .value = 0x1f,
                            .extra = kEndpointIds - 1};
  using List = std::array<CUDA_FABRIC_COPY_BATCH_OP, 2>;
  static void canonicalise(Op& op);
  static List value(const Op& op, const Operands& o);
  static std::string text(const Op& op, const WrittenNames& names);
  static void read(Op& op, const Argued& argued);
};

/// The calling thread's own stream, or one of the two legacy names.
struct FabricStream : Source {
  static constexpr bool kStated = true;
  static constexpr Op kUses{.value = 0x60};
  static void canonicalise(Op& op) {
    if (!(op.value & kLegacyStream)) op.value &= 0x1f;
  }
  static std::uint64_t value(const Op& op, const Operands&) { return number(op.value); }
  static std::string text(const Op& op, const WrittenNames&) {
    return number_text(number(op.value));
  }
  static void read(Op& op, const Argued& argued);

 private:
  static constexpr unsigned kOwn = 2;  // CU_STREAM_PER_THREAD; the legacy ones are 0 and 1
  static std::uint64_t number(std::uint8_t value) {
    return value & kLegacyStream ? value >> 5 & 1 : kOwn;
  }
};

}  // namespace cuvmm::fuzz::source
