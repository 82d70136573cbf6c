// SPDX-License-Identifier: Apache-2.0
// Sources of the structures that a call takes by pointer: properties, locations, descriptors,
// records.
#pragma once

#include <utility>

#include "api/record_fields.h"
#include "fuzz/ops/sources.h"

namespace cuvmm::fuzz::source {

/// A source's value as a parameter or a field of type T.
template <class T, class V>
T as(const V& value) {
  if constexpr (std::is_same_v<T, V>) {
    return value;
  } else if constexpr (std::is_class_v<T>) {
    return std::bit_cast<T>(value);
  } else if constexpr (std::is_pointer_v<T> && std::is_integral_v<V>) {
    return reinterpret_cast<T>(static_cast<std::uintptr_t>(value));
  } else {
    return static_cast<T>(value);
  }
}

/// A structure that the call takes by pointer, or NULL. A missing structure has no fields.
template <class Of>
struct Given : Of {
  static constexpr Op kUses = joined(Of::kUses, Op{.faults = kNullIn});
  static void canonicalise(Op& op) {
    Of::canonicalise(op);
    if (op.faults & kNullIn) op = without(op, Of::kUses);
  }
  static void* value(const Op& op, const Operands& o) {
    if (op.faults & kNullIn) return nullptr;
    const auto structure = Of::value(op, o);
    static_assert(sizeof structure <= sizeof o.memory.in);
    return std::memcpy(o.memory.in, &structure, sizeof structure);
  }
  static std::string text(const Op& op, const WrittenNames& names) {
    return op.faults & kNullIn ? "null" : Of::text(op, names);
  }
  static void read(Op& op, const Argued& argued) {
    if (argued.null()) {
      op.faults |= kNullIn;
    } else {
      Of::read(op, argued);
    }
  }
};

/// A structure that the call takes by pointer, never NULL: NULL is the text of an earlier op.
template <class Of>
struct Pointed : Of {
  static void* value(const Op& op, const Operands& o) {
    const auto structure = Of::value(op, o);
    static_assert(sizeof structure <= sizeof o.memory.in);
    return std::memcpy(o.memory.in, &structure, sizeof structure);
  }
  static void read(Op& op, const Argued& argued) {
    if (argued.null()) return argued.refuse("no op holds NULL here");
    Of::read(op, argued);
  }
};

struct Location : Source {
  static constexpr Op kUses{.place = kAll};
  static void canonicalise(Op& op) { op.place = wrapped(op.place, std::size(kPlaces)); }
  static CUmemLocation value(const Op& op, const Operands&) { return at(op.place); }
  static std::string text(const Op& op, const WrittenNames&) { return text_of(op.place); }
  static void read(Op& op, const Argued& argued);

  static CUmemLocation at(std::uint8_t place) {
    CUmemLocation location{};
    location.type = static_cast<CUmemLocationType>(kPlaces[place].type);
    location.id = kPlaces[place].id;
    return location;
  }
  static std::string text_of(std::uint8_t place);
  /// The place of a location; refuses a location that no place has.
  static std::uint8_t place_of(const CUmemLocation& location, const Argued& argued);
};

/// A CUmemAllocationProp: `value` has the handle types, `extra` selects an unusual property.
struct AnyProperties : Source {
  static void canonicalise(Op& op) {
    Location::canonicalise(op);
    op.extra = wrapped(op.extra, std::size(kTwists));
  }

 protected:
  static CUmemAllocationProp value_of(const Op& op, unsigned types);
  static std::string text_of(const Op& op, unsigned types);
  static void read_into(Op& op, const Argued& argued);
};
template <std::uint8_t bits>
struct Properties : AnyProperties {
  static constexpr Op kUses{.place = kAll, .value = bits, .extra = kAll};
  static CUmemAllocationProp value(const Op& op, const Operands&) {
    return value_of(op, op.value & bits);
  }
  static std::string text(const Op& op, const WrittenNames&) {
    return text_of(op, op.value & bits);
  }
  static void read(Op& op, const Argued& argued) { read_into(op, argued); }
};

/// One descriptor, or two; the second gives location `extra` - 1 all access.
struct Access : Source {
  static constexpr Op kUses{.place = kAll, .value = 7, .extra = kAll};
  static void canonicalise(Op& op) {
    Location::canonicalise(op);
    op.extra = wrapped(op.extra, std::size(kPlaces) + 1);
  }
  static std::array<CUmemAccessDesc, 2> value(const Op& op, const Operands&);
  static std::string text(const Op& op, const WrittenNames&);
  static void read(Op& op, const Argued& argued);
};

/// The number of descriptors, or 0 with the bit `fault`.
template <std::uint8_t fault>
struct AccessCount : Source {
  static constexpr bool kStated = true;  // the list does not tell the count
  static constexpr Op kUses{.faults = fault};
  static void canonicalise(Op& op) {
    if (op.faults & kNullIn) op.faults &= static_cast<std::uint8_t>(~fault);
  }
  static std::uint64_t value(const Op& op, const Operands&) {
    return op.faults & fault ? 0 : op.extra ? 2 : 1;
  }
  static std::string text(const Op& op, const WrittenNames&) {
    return op.faults & fault ? "0" : op.faults & kNullIn ? "1" : "";
  }
  static void read(Op& op, const Argued& argued) {
    if (argued.value() && argued.number() == 0) op.faults |= fault;
  }
};

/// A field of a pool's properties that should be 0 and has another value with this `extra`.
template <std::uint8_t which>
struct PoolTwist : Source {
  static constexpr Op kUses{.extra = kAll};
  static std::uint64_t value(const Op& op, const Operands&) {
    return op.extra == which ? kPoolTwists[which] : 0;
  }
  static std::string text(const Op& op, const WrittenNames&) {
    return op.extra == which ? number_text(kPoolTwists[which]) : std::string();
  }
  static void read(Op& op, const Argued& argued) {
    if (argued.value() && argued.value()->kind == Value::Kind::kNumber) op.extra = which;
  }
};

/// The type pinned, or 0 with the first `extra`.
struct PoolType : PoolTwist<1> {
  static void canonicalise(Op& op) { op.extra = wrapped(op.extra, std::size(kPoolTwists)); }
  static std::uint64_t value(const Op& op, const Operands&) {
    return op.extra == 1 ? kPoolTwists[1] : std::uint64_t{CU_MEM_ALLOCATION_TYPE_PINNED};
  }
  static std::string text(const Op& op, const WrittenNames&) {
    return op.extra == 1 ? "0" : "pinned";
  }
};

/// A structure of record_fields.h, of which Keys::kKeys are made of these sources.
template <class Type, class Keys, class... Sources>
struct Record : Source {
  static constexpr NameKind only(std::initializer_list<NameKind> kinds) {
    NameKind found = kNone;
    for (const NameKind kind : kinds) found = kind == kNone ? found : kind;
    return found;
  }
  static constexpr NameKind kRef = only({Sources::kRef...});
  static constexpr NameKind kRef2 = only({Sources::kRef2...});
  static constexpr Op kUses = [] {
    Op uses;
    ((uses = joined(uses, Sources::kUses)), ...);
    return uses;
  }();
  static void canonicalise(Op& op) { (Sources::canonicalise(op), ...); }

  static Type value(const Op& op, const Operands& o) {
    Type record;
    std::memset(static_cast<void*>(&record), 0, sizeof record);
    visit_record(record, [&]<class T>(const RecordField& field, T& member) {
      const std::string_view name = field.key;
      const char* const* key = Keys::kKeys;
      ((name == *key++ ? set(member, Sources::value(op, o)) : void()), ...);
    });
    return record;
  }
  static std::string text(const Op& op, const WrittenNames& names) {
    std::string out;
    const char* const* key = Keys::kKeys;
    (add(out, *key++, Sources::text(op, names), Sources::kStated), ...);
    return "{" + out + "}";
  }
  static void read(Op& op, const Argued& argued) {
    const Value& record = *argued.value();
    Type whole =
        argued.resolver().record<Type>(record);  // reports fields that the record does not have
    if (record.kind != Value::Kind::kRecord) return;
    const char* const* key = Keys::kKeys;
    ((Sources::read(op, argued.part(field(record, *key), words(whole, *key))), ++key), ...);
  }

 private:
  template <class T, class V>
  static void set(T& member, const V& value) {
    if constexpr (std::is_class_v<T> == std::is_class_v<V>) {
      // One place may have two keys, of which one is 0.
      if constexpr (!std::is_class_v<V>) {
        if (!value) return;
      }
      member = as<T>(value);
    }
  }
  static void add(std::string& out, const char* key, const std::string& text, bool stated) {
    if (text.empty() || (text == "0" && !stated)) return;
    out += (out.empty() ? "" : ", ") + std::string(key) + "=" + text;
  }
  static const Value* field(const Value& record, std::string_view key) {
    for (const Argument& part : record.parts) {
      if (part.key == key) return &part.value;
    }
    return nullptr;
  }
  static std::span<const Word> words(Type& record, std::string_view key) {
    std::span<const Word> out;
    visit_record(record, [&](const RecordField& field, auto&) {
      if (field.key == key) out = field.words;
    });
    return out;
  }
};

/// A number that every op has.
template <std::uint64_t number>
struct Always : Source {
  static constexpr bool kStated = true;
  static constexpr Op kUses{};
  static std::uint64_t value(const Op&, const Operands&) { return number; }
  static std::string text(const Op&, const WrittenNames&) { return number_text(number); }
  static void read(Op&, const Argued& argued) {
    if (argued.number() != number) argued.refuse("no op holds this number");
  }
};
using NoDepth = Always<0>;
using OneChannel = Always<1>;
using ByteFormat = Always<1>;  ///< CU_AD_FORMAT_UNSIGNED_INT8

/// A small number, in the given field; `least` is added to it.
template <std::uint8_t Op::*field, std::uint8_t bits, std::uint64_t least = 0>
struct Small : Source {
  static constexpr bool kStated = true;
  static constexpr Op kUses = [] {
    Op op;
    op.*field = bits;
    return op;
  }();
  static std::uint64_t value(const Op& op, const Operands&) { return number(op); }
  static std::string text(const Op& op, const WrittenNames&) { return number_text(number(op)); }
  static void read(Op& op, const Argued& argued) {
    const std::uint64_t encoded = argued.number() - least;
    if (encoded > bits) return argued.refuse("no op holds this number");
    op.*field = static_cast<std::uint8_t>(encoded);
  }

 private:
  static std::uint64_t number(const Op& op) { return (op.*field & bits) + least; }
};
/// The size of an array in elements of a byte; height 0 is an array of one dimension.
using ArrayWidth = Small<&Op::size, kAll, 1>;
using ArrayHeight = Small<&Op::value, 3>;
/// How many levels a mipmapped array has, and which one is asked for.
using Levels = Small<&Op::extra, 3, 1>;
using Level = Small<&Op::extra, 7>;
/// The first byte of a row that a copy touches.
using ArrayOffset = Small<&Op::at, kAll>;

// A block of an array: its first row, its rows and the bytes of each.
using BlockRow = Small<&Op::extra, 7>;
using BlockRows = Small<&Op::value, 7>;
using BlockWidth = Small<&Op::size, 63>;
/// The distance between two rows in device memory: their width, or up to three times 64 bytes more.
struct BlockPitch : Source {
  static constexpr bool kStated = true;
  static constexpr Op kUses{.size = 63, .odd_size = 3};
  static std::uint64_t value(const Op& op, const Operands&) { return bytes(op); }
  static std::string text(const Op& op, const WrittenNames&) { return number_text(bytes(op)); }
  static void read(Op& op, const Argued& argued) {
    // The width may be read later; it is less than 64.
    op.odd_size = static_cast<std::uint8_t>(argued.number() / 64);
    if (argued.number() > 255) argued.refuse("no op holds this pitch");
  }

 private:
  static std::uint64_t bytes(const Op& op) { return op.size + std::uint64_t{64} * op.odd_size; }
};
/// CU_MEMORYTYPE_DEVICE and CU_MEMORYTYPE_ARRAY.
using DeviceSide = Always<2>;
using ArraySide = Always<3>;

#define CUVMM_FUZZ_KEY(key, ...) #key,
#define CUVMM_FUZZ_SOURCE(key, ...) , __VA_ARGS__
#define CUVMM_FUZZ_RECORD_OF(Name, Type, ...)                                             \
  struct Name##Keys {                                                                     \
    static constexpr const char* kKeys[] = {CUVMM_FOR_EACH(CUVMM_FUZZ_KEY, __VA_ARGS__)}; \
  };                                                                                      \
  using Name = Record<Type, Name##Keys CUVMM_FOR_EACH(CUVMM_FUZZ_SOURCE, __VA_ARGS__)>;
#define CUVMM_FUZZ_RECORD CUVMM_FUZZ_RECORD_OF
#include "fuzz/ops/ops.def"

}  // namespace cuvmm::fuzz::source
