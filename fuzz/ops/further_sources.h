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

// --- Sparse arrays: shapes of some tiles, memory for tiles, the regions of cuMemMapArrayAsync

/// `mask` bits of a field, from bit `shift` on: a number, to which `least` is added, times `unit`.
template <std::uint8_t Op::*field, unsigned shift, std::uint8_t mask, std::uint64_t unit = 1,
          std::uint64_t least = 0>
struct Scaled : Source {
  static constexpr Op kUses = [] {
    Op op;
    op.*field = static_cast<std::uint8_t>(mask << shift);
    return op;
  }();
  static std::uint64_t value(const Op& op, const Operands&) { return number(op); }
  static std::string text(const Op& op, const WrittenNames&) { return number_text(number(op)); }
  static void read(Op& op, const Argued& argued) {
    if (!argued.value()) return;
    const std::uint64_t encoded = argued.number() / unit - least;
    if (argued.number() % unit != 0 || encoded > mask) return argued.refuse("no op holds this");
    op.*field = static_cast<std::uint8_t>((op.*field & ~(mask << shift)) | encoded << shift);
  }

 private:
  static std::uint64_t number(const Op& op) { return ((op.*field >> shift & mask) + least) * unit; }
};

/// Memory for tiles, which is on the device of `place`.
struct TilePool : AnyProperties {
  static constexpr Op kUses{.place = kAll};
  static void canonicalise(Op& op) { Location::canonicalise(op); }
  static CUmemAllocationProp value(const Op& op, const Operands&);
  static std::string text(const Op& op, const WrittenNames&);
  static void read(Op& op, const Argued& argued);
};

/// The sides of an array in units of 64 elements: a quarter of a tile of two dimensions.
inline constexpr std::uint64_t kSideUnit = 64;
using TiledWidth = Stated<Scaled<&Op::size, 0, 7, kSideUnit, 1>>;
using TiledHeight = Stated<Scaled<&Op::value, 0, 7, kSideUnit, 1>>;

/// The depth of an array, and its flags, by the kind that `flags` selects.
struct TiledDepth : Source {
  static constexpr bool kStated = true;
  static constexpr Op kUses{.flags = 3};
  static std::uint64_t value(const Op& op, const Operands&) { return tiled_kind(op.flags).depth; }
  static std::string text(const Op& op, const WrittenNames&) {
    return number_text(tiled_kind(op.flags).depth);
  }
  static void read(Op& op, const Argued& argued);
};
struct TiledFlags : TiledDepth {
  static std::uint64_t value(const Op& op, const Operands&) { return tiled_kind(op.flags).flags; }
  static std::string text(const Op& op, const WrittenNames&) {
    return number_text(tiled_kind(op.flags).flags);
  }
  static void read(Op& op, const Argued& argued);
};

/// A field of the region of a mip tail, or of a level, which the other kind of region lacks.
template <bool tail, class Of>
struct Region : Of {
  static std::uint64_t value(const Op& op, const Operands& o) {
    return names_tail(op.value) == tail ? Of::value(op, o) : 0;
  }
  static std::string text(const Op& op, const WrittenNames& names) {
    return names_tail(op.value) == tail ? Of::text(op, names) : std::string();
  }
};
using TileOperation = Stated<Scaled<&Op::value, 0, 3>>;
using SubresourceType = Scaled<&Op::value, 2, 3>;
using RegionLayer = Region<false, Scaled<&Op::value, 4, 3>>;
using TailLayer = Region<true, Scaled<&Op::value, 4, 3>>;
using RegionLevel = Region<false, Scaled<&Op::extra, 0, 7>>;
using RegionX = Region<false, Scaled<&Op::at, 0, 15, kSideUnit>>;
using RegionY = Region<false, Scaled<&Op::odd, 0, 15, kSideUnit>>;
using RegionZ = Region<false, Scaled<&Op::extra, 5, 1, 32>>;
using RegionWidth = Region<false, Scaled<&Op::size, 0, 15, kSideUnit>>;
using RegionHeight = Region<false, Scaled<&Op::odd_size, 0, 15, kSideUnit>>;
/// The bytes of a tail in units of half a tile.
inline constexpr std::uint64_t kTailUnit = 32 << 10;
using TailOffset = Region<true, Scaled<&Op::at, 0, 15, kTailUnit>>;
using TailSize = Region<true, Scaled<&Op::size, 0, 15, kTailUnit>>;
using TileHandleType = Scaled<&Op::odd2, 1, 1>;
using TileFlags = Scaled<&Op::flags, 0, 1>;
using TileReserved = Scaled<&Op::flags, 1, 1>;

/// The depth of a region: one, the depth of an array, nothing, or more than any array has.
struct DepthOfRegion : Source {
  static constexpr std::uint64_t kDepths[] = {1, 32, 0, 64};
  static constexpr Op kUses{.extra = 3 << 3};
  static std::uint64_t value(const Op& op, const Operands&) { return kDepths[op.extra >> 3 & 3]; }
  static std::string text(const Op& op, const WrittenNames&) {
    return number_text(kDepths[op.extra >> 3 & 3]);
  }
  static void read(Op& op, const Argued& argued);
};
using RegionDepth = Region<false, DepthOfRegion>;

/// The offset in the memory: a number of tiles, or a page more.
struct TileOffset : Source {
  static constexpr Op kUses{.at2 = 63, .odd2 = 1};
  static constexpr std::uint64_t kTile = 64 << 10, kPage = 4096;
  static std::uint64_t value(const Op& op, const Operands&) { return bytes(op); }
  static std::string text(const Op& op, const WrittenNames&) { return number_text(bytes(op)); }
  static void read(Op& op, const Argued& argued);

 private:
  static std::uint64_t bytes(const Op& op) { return op.at2 * kTile + (op.odd2 & 1) * kPage; }
};

/// The device as a mask; no device, or two.
struct DeviceMask : Source {
  static constexpr bool kStated = true;
  static constexpr Op kUses{.place = kAll};
  static constexpr std::uint8_t kNoDevices = 8, kTwoDevices = 9;
  static void canonicalise(Op& op) { op.place = wrapped(op.place, kTwoDevices + 1); }
  static std::uint64_t value(const Op& op, const Operands&) { return mask(op); }
  static std::string text(const Op& op, const WrittenNames&) { return number_text(mask(op)); }
  static void read(Op& op, const Argued& argued);

 private:
  static std::uint64_t mask(const Op& op) {
    return op.place == kNoDevices ? 0 : op.place == kTwoDevices ? 3 : std::uint64_t{1} << op.place;
  }
};

// clang-format off
CUVMM_FUZZ_RECORD_OF(TiledArray, CUDA_ARRAY3D_DESCRIPTOR, (width, TiledWidth), (height, TiledHeight), (depth, TiledDepth), (format, ByteFormat), (channels, OneChannel), (flags, TiledFlags))
CUVMM_FUZZ_RECORD_OF(ArrayTiles, CUarrayMapInfo, (resourceType, Always<0>), (array, Name<kArray>), (subresourceType, SubresourceType), (level, RegionLevel), (layer, RegionLayer), (offsetX, RegionX), (offsetY, RegionY), (offsetZ, RegionZ), (extentWidth, RegionWidth), (extentHeight, RegionHeight), (extentDepth, RegionDepth), (tailLayer, TailLayer), (tailOffset, TailOffset), (tailSize, TailSize), (operation, TileOperation), (handleType, TileHandleType), (memHandle, Name<kMemory, 2>), (offset, TileOffset), (deviceBitMask, DeviceMask), (flags, TileFlags), (reserved0, TileReserved))
CUVMM_FUZZ_RECORD_OF(MipmapTiles, CUarrayMapInfo, (resourceType, Always<1>), (array, Name<kMipmap>), (subresourceType, SubresourceType), (level, RegionLevel), (layer, RegionLayer), (offsetX, RegionX), (offsetY, RegionY), (offsetZ, RegionZ), (extentWidth, RegionWidth), (extentHeight, RegionHeight), (extentDepth, RegionDepth), (tailLayer, TailLayer), (tailOffset, TailOffset), (tailSize, TailSize), (operation, TileOperation), (handleType, TileHandleType), (memHandle, Name<kMemory, 2>), (offset, TileOffset), (deviceBitMask, DeviceMask), (flags, TileFlags), (reserved0, TileReserved))
// clang-format on

/// A list of one region: Given, or Pointed.
template <class Of>
struct OneRegion : Of {
  static void canonicalise(Op& op) {
    // The fields that a tail lacks.
    if (names_tail(op.value)) op.odd = op.odd_size = op.extra = 0;
    Of::canonicalise(op);
  }
  static std::string text(const Op& op, const WrittenNames& names) {
    return op.faults & kNullIn ? "null" : "[" + Of::text(op, names) + "]";
  }
  static void read(Op& op, const Argued& argued) {
    if (argued.null()) return Of::read(op, argued);
    const Value* list = argued.value();
    if (!list || list->kind != Value::Kind::kList || list->parts.size() != 1) {
      return argued.refuse("an op maps one region");
    }
    Of::read(op, argued.part(&list->parts.front().value, {}));
  }
};

/// How many regions of the list the call maps: the one, or none.
struct RegionCount : Source {
  static constexpr bool kStated = true;
  static constexpr Op kUses{.faults = kNoCount};
  static void canonicalise(Op& op) {
    if (op.faults & kNullIn) op.faults &= static_cast<std::uint8_t>(~kNoCount);
  }
  static std::uint64_t value(const Op& op, const Operands&) { return op.faults & kNoCount ? 0 : 1; }
  static std::string text(const Op& op, const WrittenNames&) {
    return op.faults & kNoCount ? "0" : op.faults & kNullIn ? "1" : "";
  }
  static void read(Op& op, const Argued& argued) {
    if (argued.value() && argued.number() == 0) op.faults |= kNoCount;
  }
};

}  // namespace cuvmm::fuzz::source
