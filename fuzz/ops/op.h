// SPDX-License-Identifier: Apache-2.0
// One call of a fuzzed program, as 16 bytes. The size is fixed, so that a byte mutator cannot shift
// the calls that follow.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/multicast.h"
#include "api/sizes.h"

namespace cuvmm::fuzz {

/// The calls that programs are made of. The values are the binary format: see ops.def.
enum class Code : std::uint8_t {
#define CUVMM_FUZZ_OP(code, ...) k##code,
#define CUVMM_FUZZ_PSEUDO(code, ...) k##code,
#include "fuzz/ops/ops.def"
  kCount
};
inline constexpr std::size_t kCodes = static_cast<std::size_t>(Code::kCount);

namespace detail {
struct Caller {
  std::string_view function;
  bool both;
};
enum Who : bool { First, Both };
inline constexpr Caller kCallers[kCodes] = {
#define CUVMM_FUZZ_OP(code, who, makes, Call, ...) {"cu" #Call, who},
#define CUVMM_FUZZ_PSEUDO(code, who, makes, function, ...) {#function, who},
#include "fuzz/ops/ops.def"
};
}  // namespace detail

/// The function's name in the program text: "cuMemMap". The first one where an op has several.
constexpr std::string_view function_of(Code code) {
  return detail::kCallers[static_cast<std::size_t>(code)].function;
}

namespace detail {
inline constexpr bool kMulticast[kCodes] = {
#define CUVMM_FUZZ_OP(code, who, makes, Call, ...) can_multicast(EntryPoint::k##Call),
#define CUVMM_FUZZ_PSEUDO(code, ...) false,
#include "fuzz/ops/ops.def"
};
}  // namespace detail

/// Whether the call can make or use a multicast team. None may reach a real driver, because a team
/// can disturb other users of a shared fabric.
constexpr bool is_multicast(Code code) {
  return detail::kMulticast[static_cast<std::size_t>(code)];
}

/// Whether the call is about logical endpoints, which drivers have since CUDA 13.3, or a fabric
/// copy (13.5). Each such call is_multicast() as well.
constexpr bool is_endpoint(Code code) {
  return code >= Code::kEpReserve && code <= Code::kFabricCopy;
}
/// The first driver version that has all these calls.
inline constexpr int kEndpointsSince = 13050;

/// Whether the call came to ops.def after programs were recorded on real drivers. Such a call is
/// made only where Scope::further asks for it, so that each seed still means the recorded program.
inline constexpr Code kFirstFurther = Code::kPoolTrim;
constexpr bool is_further(Code code) { return code >= kFirstFurther; }

/// Whether the call is about streams, events, captures or graphs.
constexpr bool is_capture(Code code) {
  return code >= Code::kStreamMake && code <= Code::kGraphEnd;
}

/// The driver version that the call needs, where the recorded drivers lack the call; 0 for all
/// other calls.
constexpr int since(Code code) {
  return is_endpoint(code) ? kEndpointsSince : code == Code::kWhereIs ? 13040 : 0;
}

/// Whether processes other than process 0 make this call too.
constexpr bool crosses(Code code) { return detail::kCallers[static_cast<std::size_t>(code)].both; }

/// The kind of object that a name stands for; each reference asks for one kind.
enum class NameKind : std::uint8_t {
  kNone,
  kRange,  ///< an address: of a reservation, or of memory without one
  kMemory,
  kDescriptor,
  kExternal,
  kPool,
  kBlob,      ///< 64 bytes that stand for memory of another process
  kEndpoint,  ///< the first of the ids that one call reserved
  kArray,     ///< an array, or a level of a mipmapped one
  kMipmap,    ///< a mipmapped array
  kStream,
  kEvent,
  kGraph,
  kExecutable,  ///< a graph that can be launched
  kCount
};
inline constexpr std::size_t kNameKinds = static_cast<std::size_t>(NameKind::kCount);

/// References are names, which the op that makes the object binds (as in the program text), so
/// removing an op renumbers nothing. 0 is no name; a name without a binding has the value 0.
struct Op {
  Code code = Code::kContext;
  std::uint8_t name = 0;   ///< the name that the op binds
  std::uint8_t actor = 0;  ///< a thread of process 0, 0..kThreads-1; then the other processes
  std::uint8_t ref = 0;    ///< first reference: an address, or the handle where there is no address
  std::uint8_t ref2 = 0;   ///< second reference: the handle of a map, the source of a copy
  std::uint8_t at = 0;     ///< granules added to the address
  std::uint8_t odd = 0;    ///< index into kOdd, added to the address
  std::uint8_t at2 = 0;    ///< granules added to the second address
  std::uint8_t odd2 = 0;
  std::uint8_t size = 0;      ///< granules; elements for data
  std::uint8_t odd_size = 0;  ///< index into kOdd, added to the size
  std::uint8_t flags = 0;     ///< the call's flags
  std::uint8_t place = 0;     ///< index into kPlaces: device or host location
  std::uint8_t value = 0;     ///< access flags, handle types, fill value, option
  std::uint8_t extra = 0;     ///< alignment, offset or property, by call
  std::uint8_t faults = 0;    ///< kNullOut, kNullIn, kNoCount, kNullSecond

  friend bool operator==(const Op&, const Op&) = default;
};
static_assert(sizeof(Op) == 16);

using Ops = std::vector<Op>;

inline constexpr std::uint8_t kNullOut = 1;                 ///< NULL for the out-parameter
inline constexpr std::uint8_t kNullIn = 2;                  ///< NULL for the structure
inline constexpr std::uint8_t kNoCount = 4;                 ///< cuMemSetAccess of no descriptors
inline constexpr std::uint8_t kNullSecond = 4;              ///< NULL for a second out-parameter
inline constexpr std::uint64_t kNoDescriptor = 0x7ffffff0;  ///< no process has that many files open
inline constexpr std::uint64_t kGarbage = 0x1234;           ///< a handle that no driver gave
inline constexpr int kThreads = 3;                          ///< of process 0; the others have one
inline constexpr int kProcesses = 2;
inline constexpr std::uint8_t kActors = kThreads + kProcesses - 1;
inline constexpr std::size_t kMostOps = 200;

/// Whether the call reads device memory into a buffer of its own.
constexpr bool reads(Code code) { return code == Code::kRead || code == Code::kArrayRead; }

/// The process that makes an op's call.
constexpr int process_of(std::uint8_t actor) { return actor < kThreads ? 0 : actor - kThreads + 1; }
constexpr int process_of(const Op& op) { return process_of(op.actor); }
constexpr int thread_of(const Op& op) { return op.actor < kThreads ? op.actor : 0; }
constexpr std::uint8_t actor_of(int process, int thread) {
  return static_cast<std::uint8_t>(process == 0 ? thread : kThreads - 1 + process);
}
/// The number of processes that a program needs.
int processes_of(const Ops& ops);

/// Distances, in bytes, that break an alignment, cross a border, or are absurd.
inline constexpr std::uint64_t kOdd[] = {0,
                                         4096,
                                         1,
                                         64,
                                         0x10000,
                                         0x100000,
                                         kGranule - 16,
                                         std::uint64_t{1} << 40,
                                         std::uint64_t{1} << 47,
                                         0 - kGranule,
                                         kGranule - 1,
                                         std::uint64_t{1} << 36,
                                         std::uint64_t{1} << 33};
inline constexpr std::size_t kOdds = std::size(kOdd);

/// A CUmemLocation as numbers.
struct Place {
  int type;
  int id;
};
/// Devices 0..7, HOST, HOST_NUMA 0, then locations that do not exist.
inline constexpr Place kPlaces[] = {{1, 0}, {1, 1},  {1, 2}, {1, 3}, {1, 4}, {1, 5},
                                    {1, 6}, {1, 7},  {2, 0}, {3, 0}, {3, 7}, {1, 99},
                                    {0, 0}, {99, 0}, {4, 0}, {1, -1}};
inline constexpr std::uint8_t kHostPlace = 8;
inline constexpr std::uint8_t kNumaPlace = 9;
inline constexpr std::uint8_t kNoDevicePlace = 11;

/// Alignments of a reservation and offsets of a mapping that `extra` selects.
inline constexpr std::uint64_t kAlignments[] = {
    0,    kGranule, 2 * kGranule,           8 * kGranule,
    4096, 3,        std::uint64_t{1} << 46, std::uint64_t{1} << 63};
inline constexpr std::uint64_t kOffsets[] = {0, kGranule, 4096, 0 - kGranule};

/// The unusual creation property that `extra` selects: one field of the flattened structure.
struct PropertyTwist {
  const char* key;  ///< as the program text writes it; "" for none
  std::uint64_t value;
};
inline constexpr PropertyTwist kTwists[] = {
    {"", 0},          {"rdma", 1},      {"compression", 1}, {"type", 2},
    {"type", 0},      {"rdma", 2},      {"usage", 255},     {"compression", 2},
    {"reserved0", 1}, {"reserved2", 1}, {"reserved3", 1},   {"win32_metadata", 1}};

/// The kinds of names that an op binds and refers to.
struct Shape {
  NameKind makes = NameKind::kNone;
  NameKind ref = NameKind::kNone;
  NameKind ref2 = NameKind::kNone;
};
const Shape& shape(Code code);

/// Bits of `extra` in the calls about external memory.
inline constexpr std::uint8_t kReservedWord = 1;  ///< a reserved word that is not 0
inline constexpr std::uint8_t kWild = 2;          ///< kNoDescriptor, or kGarbage

/// The device that a place names, or one that does not exist; how many devices `extra` asks for.
constexpr int device_number(std::uint8_t place) {
  return kPlaces[place].type == 1 ? kPlaces[place].id : kPlaces[kNoDevicePlace].id;
}
constexpr std::uint8_t kAllOnes = 10;
constexpr unsigned team_size(std::uint8_t extra) { return extra == kAllOnes ? ~0u : extra; }

/// The unusual pool property that `extra` selects: the type is 0, or a field that should be 0 has
/// this value.
inline constexpr std::uint64_t kPoolTwists[] = {0, 0, 4096, 1, 1};
inline constexpr unsigned char kForged = 0xa5;  ///< each byte of a blob that no driver wrote

/// Parts of `value` for a logical endpoint: its type, its number of devices, its handle types.
inline constexpr unsigned kUnicast = 1, kTeamed = 2;
constexpr unsigned endpoint_type(std::uint8_t value) { return value & 3; }
constexpr unsigned endpoint_devices(std::uint8_t value) { return value >> 2 & 7; }
constexpr unsigned endpoint_handle_types(std::uint8_t value) { return value >> 5 & 3; }
constexpr std::uint8_t endpoint_value(unsigned type, unsigned devices, unsigned handle_types) {
  return static_cast<std::uint8_t>(type | devices << 2 | handle_types << 5);
}
inline constexpr std::uint8_t kEndpointIds =
    8;  ///< `extra` selects one of this many ids behind a name

/// Parts of `value` for a fabric copy: the types of its source and destination, its flags, and its
/// stream. `odd_size` selects the copies of a batch.
inline constexpr unsigned kByPointer = 1, kByEndpoint = 2;
constexpr unsigned source_type(std::uint8_t value) { return value & 3; }
constexpr unsigned destination_type(std::uint8_t value) { return value >> 2 & 3; }
constexpr std::uint8_t fabric_value(unsigned source, unsigned destination) {
  return static_cast<std::uint8_t>(source | destination << 2);
}
inline constexpr std::uint8_t kCopyFlag = 0x10;
inline constexpr std::uint8_t kLegacyStream = 0x40;  ///< and 0x20 for its other name
/// One copy; two copies, the second one kNextCopy bytes further; one copy twice; no copy of a list
/// of one.
inline constexpr std::uint8_t kOneCopy = 0, kTwoCopies = 1, kSameCopies = 2, kNoCopies = 3;
inline constexpr std::uint64_t kNextCopy = 256;

/// Parts of `extra` for stream memory operations: words of 64 bits instead of 32, and the operation
/// after the write of a batch.
inline constexpr std::uint8_t kLongWord = 1;
inline constexpr unsigned kWriteAlone = 0, kThenWait = 1, kThenWrite = 2, kThenFlush = 3;
constexpr unsigned word_bytes(std::uint8_t extra) { return extra & kLongWord ? 8 : 4; }
constexpr unsigned word_follower(std::uint8_t extra) { return extra >> 1 & 3; }
constexpr std::uint8_t word_extra(unsigned follower, bool is_long) {
  return static_cast<std::uint8_t>(follower << 1 | (is_long ? kLongWord : 0));
}

/// The arrays of some tiles that `flags` selects: sparse ones of two dimensions, with two layers
/// and of three dimensions, and one that is not sparse.
struct TiledKind {
  unsigned depth, flags;
};
inline constexpr std::uint8_t kTiledKinds = 4;
constexpr TiledKind tiled_kind(std::uint8_t flags) {
  constexpr unsigned kSparse = 0x40, kLayered = 1;  // CUDA_ARRAY3D_SPARSE, CUDA_ARRAY3D_LAYERED
  constexpr TiledKind kKinds[kTiledKinds] = {
      {0, kSparse}, {2, kSparse | kLayered}, {32, kSparse}, {0, 0}};
  return kKinds[flags % kTiledKinds];
}
/// Parts of `value` for the tiles of an array: the operation, and the type of the subresource.
inline constexpr std::uint8_t kMapTiles = 1, kUnmapTiles = 2, kTail = 1 << 2;
constexpr bool names_tail(std::uint8_t value) { return (value >> 2 & 3) == 1; }

/// Puts every field into its range and clears those that the call does not use, so that equal calls
/// are equal bytes. Any 16 bytes become a valid op.
void canonicalise(Op& op);
/// The fields that a call reads, as masks of their bits.
const Op& used_by(Code code);

/// The bytes of an address's or a size's distance.
constexpr std::uint64_t distance(std::uint8_t granules, std::uint8_t odd) {
  return granules * kGranule + kOdd[odd];
}
/// Finds granules and an index into kOdd whose sum is `distance`; false when there are none.
bool split(std::uint64_t distance, std::uint8_t& granules, std::uint8_t& odd);

/// The program as bytes: magic and version, then 16 bytes per op.
std::vector<std::uint8_t> encode(const Ops& ops);
/// Any bytes become a program: wrong headers and tails are ignored, ops made canonical, at most
/// kMostOps kept.
Ops decode(std::span<const std::uint8_t> bytes);
inline constexpr std::size_t kHeaderBytes = 16;

}  // namespace cuvmm::fuzz
