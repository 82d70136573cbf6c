// SPDX-License-Identifier: Apache-2.0
// Sources of the parameters of the calls of is_further().
#pragma once

#include "fuzz/ops/structure_sources.h"

namespace cuvmm::fuzz::source {

/// The NULL stream; the text leaves it out.
struct LegacyStream : Source {
  static constexpr Op kUses{};
  static std::uint64_t value(const Op&, const Operands&) { return 0; }
  static std::string text(const Op&, const WrittenNames&) { return {}; }
  static void read(Op&, const Argued&) {}
};

/// The value that a stream writes into a word of 4 or 8 bytes: its bytes differ from each other.
struct WordValue : Source {
  static constexpr Op kUses{.value = kAll, .extra = kLongWord};
  static std::uint64_t value(const Op& op, const Operands&) { return word(op); }
  static std::string text(const Op& op, const WrittenNames&) { return number_text(word(op)); }
  static void read(Op& op, const Argued& argued) {
    op.value = static_cast<std::uint8_t>(argued.number());
  }
  static std::uint64_t word(const Op& op) {
    const std::uint64_t word = op.value * std::uint64_t{0x0504030201020301};
    return op.extra & kLongWord ? word : word & 0xffffffff;
  }
};

/// How many operations of the list the call makes.
struct WordCount : Source {
  static constexpr Op kUses{.extra = 7, .faults = kNoCount};
  static std::uint64_t value(const Op& op, const Operands&) { return count(op); }
  static std::string text(const Op& op, const WrittenNames&) { return number_text(count(op)); }
  static void read(Op& op, const Argued& argued) {
    if (argued.number() == 0) op.faults |= kNoCount;
  }

 private:
  static std::uint64_t count(const Op& op) {
    if (op.faults & kNoCount) return 0;
    return word_follower(op.extra) == kWriteAlone ? 1 : 2;
  }
};

/// The operations of a batch: a write, and the operation of word_follower(). Never NULL, because a
/// driver would crash.
struct WordList : Source {
  static constexpr NameKind kRef = kRange, kRef2 = kRange;
  static constexpr Op kUses{.ref = kAll,
                            .ref2 = kAll,
                            .at = kAll,
                            .odd = kAll,
                            .at2 = kAll,
                            .odd2 = kAll,
                            .value = kAll,
                            .extra = 7};
  static void canonicalise(Op& op);
  static void* value(const Op& op, const Operands& o);
  static std::string text(const Op& op, const WrittenNames& names);
  static void read(Op& op, const Argued& argued);
};

/// A CUmem_advise, or a number that is no advice.
struct Advice : Source {
  static constexpr Op kUses{.value = 15};
  static std::uint64_t value(const Op& op, const Operands&) { return op.value; }
  static std::string text(const Op& op, const WrittenNames&) { return number_text(op.value); }
  static void read(Op& op, const Argued& argued);
};

/// A CUmemAllocationType: pinned, or a type that does not exist; never managed.
struct NotManaged : Source {
  static constexpr std::uint64_t kTypes[] = {1, 0, 3, 99};
  static constexpr Op kUses{.extra = 3};
  static std::uint64_t value(const Op& op, const Operands&) { return kTypes[op.extra]; }
  static std::string text(const Op& op, const WrittenNames&);
  static void read(Op& op, const Argued& argued);
};

/// The summary's granularity: the whole size, nothing, or more, so that the driver has at most one
/// answer to write.
struct Summary : Source {
  static constexpr Op kUses{.size = kAll, .odd_size = kAll, .extra = 3};
  static void canonicalise(Op& op) {
    if ((op.extra & 3) == 3) op.extra ^= 1;
  }
  static std::uint64_t value(const Op& op, const Operands&) { return bytes(op); }
  static std::string text(const Op& op, const WrittenNames&) { return number_text(bytes(op)); }
  static void read(Op& op, const Argued& argued);
  static std::uint64_t bytes(const Op& op) {
    const std::uint64_t size = distance(op.size, op.odd_size);
    return (op.extra & 3) == 0 ? size : (op.extra & 3) == 1 ? 0 : size + kGranule;
  }
};

/// The sampling: the driver's choice, or more than the summary's.
struct Sampling : Source {
  static constexpr Op kUses{.size = kAll, .odd_size = kAll, .extra = 7};
  static std::uint64_t value(const Op& op, const Operands&) { return bytes(op); }
  static std::string text(const Op& op, const WrittenNames&) { return number_text(bytes(op)); }
  static void read(Op& op, const Argued& argued) {
    if (argued.number() != 0) op.extra |= 4;
  }
  static std::uint64_t bytes(const Op& op) {
    return op.extra & 4 ? Summary::bytes(op) + kNextSample : 0;
  }
  static constexpr std::uint64_t kNextSample = 4096;
};

/// Flags of which only the lowest may be set.
struct OneFlag : Source {
  static constexpr Op kUses{.flags = 1};
  static std::uint64_t value(const Op& op, const Operands&) { return op.flags; }
  static std::string text(const Op& op, const WrittenNames&) { return number_text(op.flags); }
  static void read(Op& op, const Argued& argued) { Flags::read(op, argued); }
};

/// A CUstreamCaptureMode.
struct CaptureMode : Source {
  static constexpr Op kUses{.value = 3};
  static void canonicalise(Op& op) { op.value = wrapped(op.value, 3); }
  static std::uint64_t value(const Op& op, const Operands&) { return op.value; }
  static std::string text(const Op& op, const WrittenNames&) { return number_text(op.value); }
  static void read(Op& op, const Argued& argued) {
    if (argued.number() > 2) argued.refuse("no op holds this mode");
    op.value = static_cast<std::uint8_t>(argued.number() & 3);
  }
};

/// The byte of a fill.
struct FillByte : Source {
  static constexpr Op kUses{.value = kAll};
  static std::uint64_t value(const Op& op, const Operands&) { return op.value; }
  static std::string text(const Op& op, const WrittenNames&) { return number_text(op.value); }
  static void read(Op& op, const Argued& argued) {
    op.value = static_cast<std::uint8_t>(argued.number());
  }
};

/// The first reference again, with the second distance.
struct Beside : Distance<2> {
  static constexpr NameKind kRef = kRange;
  static constexpr Op kUses = joined(Fields<1>::kName, Fields<2>::kDistance);
  static std::uint64_t value(const Op& op, const Operands& o) {
    return o.first + Distance::value(op, o);
  }
  static std::string text(const Op& op, const WrittenNames& names) {
    const std::string base = names.text(kRange, op.ref), added = Distance::text(op, names);
    return base.empty() ? added : added == "0" ? base : base + "+" + added;
  }
  static void read(Op& op, const Argued& argued) {
    if (argued.reference(kRange) != op.ref) argued.refuse("an op copies within one range");
    Distance::read(op, argued);
  }
};

/// Host memory that the call writes to.
struct HostOut : Out {
  static std::string text(const Op& op, const WrittenNames&) {
    return op.faults & kNullOut ? "null" : "host(64)";
  }
};

}  // namespace cuvmm::fuzz::source
