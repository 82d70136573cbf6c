// SPDX-License-Identifier: Apache-2.0
// Sources compute a call's parameter from the 16 bytes of an op. Each source is a class that knows
// the bits it uses, their canonical form, the parameter's value, its text, and how to read the text
// back.
//
// A source has these members, or has them from Source:
//   kUses            the bits of the op that it reads
//   kRef, kRef2      the kind of name that the op's first or second reference is
//   kStated          the text says it even where it is 0 and could be left out
//   canonicalise(op) puts the fields into their ranges; its bits are the only ones that are set
//   value(op, o)     the parameter's value: a number, a pointer, or a structure
//   text(op, names)  the argument; empty where there is none
//   read(op, argued) sets the fields
#pragma once

#include <bit>
#include <cstring>
#include <span>
#include <string>

#include "fuzz/ops/argument.h"
#include "fuzz/ops/op.h"

namespace cuvmm::fuzz {

using Blob = std::array<unsigned char, kBlobBytes>;

/// The memory behind the pointers of a call.
struct CallMemory {
  alignas(16) unsigned char out[kBlobBytes] = {};  ///< what the call writes
  alignas(16) unsigned char in[128] = {};          ///< the structure that it reads
  unsigned char bytes[256] = {};                   ///< host memory of a copy
};

/// The values of a call's names, and its memory.
struct Operands {
  std::uint64_t first, second;
  std::span<const Blob> blobs;  ///< a name is worth an index + 1
  CallMemory& memory;
};

namespace source {

using enum NameKind;

using Bytes16 = std::array<std::uint8_t, sizeof(Op)>;
constexpr Op joined(const Op& a, const Op& b) {
  auto bits = std::bit_cast<Bytes16>(a);
  const auto more = std::bit_cast<Bytes16>(b);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] |= more[i];
  return std::bit_cast<Op>(bits);
}
constexpr Op masked(const Op& a, const Op& b) {
  auto bits = std::bit_cast<Bytes16>(a);
  const auto mask = std::bit_cast<Bytes16>(b);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] &= mask[i];
  return std::bit_cast<Op>(bits);
}
/// Clears the fields of `op` that have a bit in `removed`.
constexpr Op without(const Op& op, const Op& removed) {
  auto bits = std::bit_cast<Bytes16>(op);
  const auto used = std::bit_cast<Bytes16>(removed);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = used[i] ? 0 : bits[i];
  return std::bit_cast<Op>(bits);
}

inline constexpr std::uint8_t kAll = 255;

constexpr std::uint8_t wrapped(std::uint8_t value, std::size_t count) {
  return static_cast<std::uint8_t>(value % count);
}
/// The canonical pair of fields for a distance: the one with fewest odd bytes.
inline void settle(std::uint8_t& granules, std::uint8_t& odd) {
  odd = wrapped(odd, kOdds);
  split(distance(granules, odd), granules, odd);
}

struct Source {
  static constexpr NameKind kRef = kNone, kRef2 = kNone;
  static constexpr bool kStated = false;
  static void canonicalise(Op&) {}
};

/// A source whose argument stands in the text even where it is 0.
template <class Of>
struct Stated : Of {
  static constexpr bool kStated = true;
};

// --- Where the call writes

struct Out : Source {
  static constexpr Op kUses{.faults = kNullOut};
  static void* value(const Op& op, const Operands& o) {
    return op.faults & kNullOut ? nullptr : o.memory.out;
  }
  static std::string text(const Op& op, const WrittenNames&);
  static void read(Op& op, const Argued& argued);
};

/// An out-parameter that is never NULL.
struct SureOut : Source {
  static constexpr Op kUses{};
  static void* value(const Op&, const Operands& o) { return o.memory.out; }
  static std::string text(const Op&, const WrittenNames&) { return {}; }
  static void read(Op&, const Argued&) {}
};

// --- Names, addresses, distances

/// The fields of an op's first or second reference, and of the distance from it.
template <int which>
struct Fields;
template <>
struct Fields<1> {
  static constexpr Op kName{.ref = kAll}, kDistance{.at = kAll, .odd = kAll};
  static constexpr std::uint8_t Op::*kRef = &Op::ref, Op::*kAt = &Op::at, Op::*kOdd = &Op::odd;
  static std::uint64_t worth(const Operands& o) { return o.first; }
};
template <>
struct Fields<2> {
  static constexpr Op kName{.ref2 = kAll}, kDistance{.at2 = kAll, .odd2 = kAll};
  static constexpr std::uint8_t Op::*kRef = &Op::ref2, Op::*kAt = &Op::at2, Op::*kOdd = &Op::odd2;
  static std::uint64_t worth(const Operands& o) { return o.second; }
};

template <NameKind kind, int which = 1>
struct Name : Source {
  using Of = Fields<which>;
  static constexpr NameKind kRef = which == 1 ? kind : kNone, kRef2 = which == 2 ? kind : kNone;
  static constexpr Op kUses = Of::kName;
  static std::uint64_t value(const Op&, const Operands& o) { return Of::worth(o); }
  static std::string text(const Op& op, const WrittenNames& names) {
    const std::string name = names.text(kind, op.*Of::kRef);
    // A stream is 0 as well: the legacy stream.
    const bool object = kind == kPool || kind == kExternal || (kind >= kArray && kind != kStream);
    return !name.empty() ? name : object ? "null" : "0";
  }
  static void read(Op& op, const Argued& argued) { op.*Of::kRef = argued.reference(kind); }
};

/// A name, or, with `bit` of `extra`, a value that no call gave.
template <NameKind kind, std::uint8_t bit, std::uint64_t wild>
struct WildName : Name<kind> {
  static constexpr Op kUses{.ref = kAll, .extra = bit};
  static void canonicalise(Op& op) {
    if (op.extra & bit) op.ref = 0;
  }
  static std::uint64_t value(const Op& op, const Operands& o) {
    return op.extra & bit ? wild : o.first;
  }
  static std::string text(const Op& op, const WrittenNames& names) {
    return op.extra & bit ? number_text(wild) : Name<kind>::text(op, names);
  }
  static void read(Op& op, const Argued& argued) {
    Name<kind>::read(op, argued);
    if (op.ref == 0 && argued.number() != 0) op.extra |= bit;
  }
};
using ExternalObject = WildName<kExternal, kWild, kGarbage>;
using PoolDescriptor = WildName<kDescriptor, kWild, kNoDescriptor>;

/// Fabric handles are passed by pointer: NULL, never a descriptor's number.
struct MemoryDescriptor : WildName<kDescriptor, 1, kNoDescriptor> {
  static void canonicalise(Op& op);
};

/// A descriptor in a structure; never 0, because a driver closes descriptors that it refuses.
struct ExternalDescriptor : WildName<kDescriptor, kWild, kNoDescriptor> {
  static std::uint64_t value(const Op& op, const Operands& o) {
    const std::uint64_t fd = WildName::value(op, o);
    return fd ? fd : ~std::uint64_t{0};
  }
  static std::string text(const Op& op, const WrittenNames& names);
  static void read(Op& op, const Argued& argued);
};

template <int which>
struct Distance : Source {
  using Of = Fields<which>;
  static constexpr Op kUses = Of::kDistance;
  static void canonicalise(Op& op) { settle(op.*Of::kAt, op.*Of::kOdd); }
  static std::uint64_t value(const Op& op, const Operands&) {
    return distance(op.*Of::kAt, op.*Of::kOdd);
  }
  static std::string text(const Op& op, const WrittenNames&) {
    return number_text(distance(op.*Of::kAt, op.*Of::kOdd));
  }
  static void read(Op& op, const Argued& argued) {
    argued.split(op.*Of::kAt, op.*Of::kOdd, "no op holds this distance");
  }
};

/// The name of a range and a distance from it.
template <int which>
struct Address : Distance<which> {
  using Of = Fields<which>;
  static constexpr NameKind kRef = which == 1 ? kRange : kNone, kRef2 = which == 2 ? kRange : kNone;
  static constexpr Op kUses = joined(Of::kName, Of::kDistance);
  static std::uint64_t value(const Op& op, const Operands& o) {
    return Of::worth(o) + Distance<which>::value(op, o);
  }
  static std::string text(const Op& op, const WrittenNames& names) {
    const std::string base = names.text(kRange, op.*Of::kRef);
    const std::string added = Distance<which>::text(op, names);
    return base.empty() ? added : added == "0" ? base : base + "+" + added;
  }
  static void read(Op& op, const Argued& argued) {
    op.*Of::kRef = argued.reference(kRange);
    Distance<which>::read(op, argued);
  }
};

// --- Sizes

struct Size : Source {
  static constexpr Op kUses{.size = kAll, .odd_size = kAll};
  static void canonicalise(Op& op) { settle(op.size, op.odd_size); }
  static std::uint64_t value(const Op& op, const Operands&) {
    return distance(op.size, op.odd_size);
  }
  static std::string text(const Op& op, const WrittenNames&);
  static void read(Op& op, const Argued& argued);
};

/// A size without those of thousands of granules and more.
struct ReservationSize : Size {
  static void canonicalise(Op& op);
};

/// Never 0, because memory of no bytes cannot be written.
struct AllocationSize : Size {
  static void canonicalise(Op& op);
};

/// A size without odd bytes.
struct Granules : Size {
  static constexpr Op kUses{.size = kAll};
  static void canonicalise(Op&) {}
};

/// The bytes of a copy, or the elements of a fill.
struct Elements : Source {
  static constexpr Op kUses{.size = kAll};
  static std::uint64_t value(const Op& op, const Operands&) { return op.size; }
  static std::string text(const Op& op, const WrittenNames&);
  static void read(Op& op, const Argued& argued);
};

// --- Numbers

struct Flags : Source {
  static constexpr Op kUses{.flags = 3};
  static std::uint64_t value(const Op& op, const Operands&) { return op.flags; }
  static std::string text(const Op& op, const WrittenNames&);
  static void read(Op& op, const Argued& argued);
};

/// The element of a table that `extra` selects.
template <class Table>
struct OneOf : Source {
  static constexpr Op kUses{.extra = kAll};
  static void canonicalise(Op& op) { op.extra = wrapped(op.extra, Table::kValues.size()); }
  static std::uint64_t value(const Op& op, const Operands&) { return Table::kValues[op.extra]; }
  static std::string text(const Op& op, const WrittenNames&) {
    return number_text(Table::kValues[op.extra]);
  }
  static void read(Op& op, const Argued& argued) {
    const std::uint64_t number = argued.number();
    for (std::size_t i = 0; i < Table::kValues.size(); ++i) {
      if (Table::kValues[i] != number) continue;
      op.extra = static_cast<std::uint8_t>(i);
      return;
    }
    argued.refuse("no op holds this number");
  }
};
struct Alignments {
  static constexpr std::span<const std::uint64_t> kValues = kAlignments;
};
struct Offsets {
  static constexpr std::span<const std::uint64_t> kValues = kOffsets;
};

/// A device by its number; a place without a number is none.
struct Device : Source {
  static constexpr Op kUses{.place = kAll};
  static void canonicalise(Op& op);
  static int value(const Op& op, const Operands&) { return device_number(op.place); }
  static std::string text(const Op& op, const WrittenNames&);
  static void read(Op& op, const Argued& argued);
};

/// A device that a machine may have.
struct FirstDevices : Device {
  static void canonicalise(Op& op) { op.place = wrapped(op.place, kHostPlace); }
};

struct HandleType : Source {
  static constexpr Op kUses{.value = 15};
  static std::uint64_t value(const Op& op, const Operands&) { return op.value; }
  static std::string text(const Op& op, const WrittenNames&);
  static void read(Op& op, const Argued& argued);
};

/// Never fabric, because its handle is passed by pointer.
struct PoolHandleType : HandleType {
  static void canonicalise(Op& op) {
    if (op.value == 8) op.value = 9;
  }
};

/// A field of a structure; the text leaves it out where it is 0.
template <std::uint8_t bits>
struct HandleTypes : HandleType {
  static constexpr Op kUses{.value = bits};
  static std::uint64_t value(const Op& op, const Operands&) { return op.value & bits; }
  static std::string text(const Op& op, const WrittenNames&) {
    const unsigned types = op.value & bits;
    return types ? bits_text(handle_type_words(), types) : std::string();
  }
};

struct RangeType : HandleType {
  static constexpr Op kUses{.value = 3};
  static std::string text(const Op& op, const WrittenNames&);
};

/// Only types that every driver is known to refuse.
struct ExternalType : HandleType {
  static void canonicalise(Op& op) {
    if (op.value == 8 || op.value == 9) op.value = 1;
  }
  static std::string text(const Op& op, const WrittenNames&);
  static void read(Op& op, const Argued& argued);
};

/// The option of a granularity; it uses the bits above the handle types, and the text has its
/// number.
struct Option : Source {
  static constexpr Op kUses{.value = 0x30};
  static std::uint64_t value(const Op& op, const Operands&) { return op.value >> 4; }
  static std::string text(const Op& op, const WrittenNames&);
  static void read(Op& op, const Argued& argued);
};

/// An attribute of a pool; some numbers exist in no driver.
struct PoolAttribute : Source {
  static constexpr Op kUses{.value = 31};
  static std::uint64_t value(const Op& op, const Operands&) { return op.value; }
  static std::string text(const Op& op, const WrittenNames&);
  static void read(Op& op, const Argued& argued);
};

struct TeamSize : Source {
  static constexpr Op kUses{.extra = kAll};
  static void canonicalise(Op& op) { op.extra = wrapped(op.extra, kAllOnes + 1); }
  static std::uint64_t value(const Op& op, const Operands&) { return team_size(op.extra); }
  static std::string text(const Op& op, const WrittenNames&);
  static void read(Op& op, const Argued& argued);
};

struct ReservedWord : Source {
  static constexpr Op kUses{.extra = kReservedWord};
  static std::uint64_t value(const Op& op, const Operands&) { return op.extra & kReservedWord; }
  static std::string text(const Op& op, const WrittenNames&);
  static void read(Op& op, const Argued& argued);
};

// --- Bytes

/// 1, 2 or 4 bytes per element, by `extra`; addresses are multiples of that size.
struct FillValue : Source {
  static constexpr Op kUses{.value = kAll, .extra = kAll};
  static void canonicalise(Op& op);
  static std::uint64_t value(const Op& op, const Operands&) { return element(op); }
  static std::string text(const Op& op, const WrittenNames&);
  static void read(Op& op, const Argued& argued);

 private:
  static unsigned element(const Op& op) {
    return op.value * 0x01020301u & ~0u >> (32 - (8 << op.extra));
  }
};

struct ReadBuffer : Source {
  static constexpr unsigned char kUntouched = 0xcd;
  static constexpr Op kUses{};
  static void* value(const Op& op, const Operands& o) {
    return std::memset(o.memory.bytes, kUntouched, op.size);
  }
  static std::string text(const Op&, const WrittenNames& names);
  static void read(Op&, const Argued&) {}
};

struct FilledBuffer : Source {
  static constexpr Op kUses{.size = kAll, .value = kAll};
  static void* value(const Op& op, const Operands& o) {
    return std::memset(o.memory.bytes, op.value, op.size);
  }
  static std::string text(const Op& op, const WrittenNames&);
  static void read(Op& op, const Argued& argued);
};

/// 64 bytes that an earlier call gave.
template <int which>
struct Bytes : Name<kBlob, which> {
  static Blob value(const Op&, const Operands& o) {
    const std::uint64_t index = Fields<which>::worth(o);
    return index && index <= o.blobs.size() ? o.blobs[index - 1] : Blob{};
  }
  static std::string text(const Op& op, const WrittenNames& names) {
    const std::string name = names.text(kBlob, op.*Fields<which>::kRef);
    return name.empty() ? "\"\"" : name;
  }
};

/// Bytes of an earlier call, or, with a bit of `extra`, bytes that no driver wrote.
struct ForgedBytes : Bytes<1> {
  static constexpr Op kUses{.ref = kAll, .extra = kWild};
  static void canonicalise(Op& op) {
    if (op.extra & kWild) op.ref = 0;
  }
  static Blob value(const Op& op, const Operands& o);
  static std::string text(const Op& op, const WrittenNames& names);
  static void read(Op& op, const Argued& argued);
};

}  // namespace source
}  // namespace cuvmm::fuzz
