// SPDX-License-Identifier: Apache-2.0
// One call of a fuzzed program, as 16 bytes. The size is fixed, so that a byte mutator cannot shift
// the calls behind it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cuvmm::fuzz {

/// The calls that programs are made of. The values are the binary format: add at the end only.
enum class Code : std::uint8_t {
  kContext,
  kReserve,
  kFree,
  kCreate,
  kRelease,
  kMap,
  kUnmap,
  kSetAccess,
  kGetAccess,
  kExport,
  kImport,
  kClose,
  kGranularity,
  kProperties,
  kRetain,
  kRangeHandle,
  kFill,
  kRead,   ///< cuMemcpyDtoH
  kWrite,  ///< cuMemcpyHtoD
  kCopy,   ///< cuMemcpyDtoD
  kMemFree,
  kExtImport,   ///< cuImportExternalMemory of a descriptor
  kExtBuffer,   ///< cuExternalMemoryGetMappedBuffer
  kExtDestroy,  ///< cuDestroyExternalMemory
  kMcCreate,
  kMcAddDevice,
  kMcBindMem,
  kMcBindAddr,
  kMcUnbind,
  kMcGranularity,
  kPoolCreate,
  kPoolDefault,  ///< cuDeviceGetDefaultMemPool
  kPoolDestroy,
  kPoolAlloc,
  kFreeAsync,
  kPoolSetAccess,
  kPoolSet,  ///< cuDeviceSetMemPool
  kPoolExport,
  kPoolImport,
  kPointerExport,
  kPointerImport,
  kAlloc,
  kIpcGet,
  kIpcOpen,
  kIpcClose,
  kCount
};
inline constexpr std::size_t kCodes = static_cast<std::size_t>(Code::kCount);

/// cuMulticast*: on a shared fabric such a call can disturb others, so none may reach a real
/// driver.
constexpr bool is_multicast(Code code) {
  return code >= Code::kMcCreate && code <= Code::kMcGranularity;
}

/// Whether processes other than process 0 make this call, too: those of virtual memory management,
/// of data, of plain memory and of legacy IPC. The other areas' are process 0's alone.
constexpr bool crosses(Code code) { return code < Code::kExtImport || code >= Code::kAlloc; }

/// What a name stands for; a reference asks for one kind.
enum class NameKind : std::uint8_t {
  kNone,
  kRange,  ///< an address: of a reservation, or of memory that needs none
  kMemory,
  kDescriptor,
  kExternal,
  kPool,
  kBlob,  ///< 64 bytes that stand for memory elsewhere
  kCount
};
inline constexpr std::size_t kNameKinds = static_cast<std::size_t>(NameKind::kCount);

/// References are names, bound by the op that produces them (as in the program text): taking an op
/// out renumbers nothing. 0 is no name; a name without a binding has the value 0.
struct Op {
  Code code = Code::kContext;
  std::uint8_t name = 0;   ///< what it binds
  std::uint8_t actor = 0;  ///< a thread of process 0, 0..kThreads-1; then the other processes
  std::uint8_t ref = 0;    ///< first reference: an address, or the handle where there is no address
  std::uint8_t ref2 = 0;   ///< second reference: the handle of a map, the source of a copy
  std::uint8_t at = 0;     ///< granules added to the address
  std::uint8_t odd = 0;    ///< index into kOdd, added to the address
  std::uint8_t at2 = 0;    ///< of the second address
  std::uint8_t odd2 = 0;
  std::uint8_t size = 0;      ///< granules; elements for data
  std::uint8_t odd_size = 0;  ///< index into kOdd, added to the size
  std::uint8_t flags = 0;     ///< the call's flags
  std::uint8_t place = 0;     ///< index into places(): device or host location
  std::uint8_t value = 0;     ///< access flags, handle types, fill value, option
  std::uint8_t extra = 0;     ///< alignment, offset or property, by call; see op.cc
  std::uint8_t faults = 0;    ///< kNullOut, kNullIn, kNoCount

  friend bool operator==(const Op&, const Op&) = default;
};
static_assert(sizeof(Op) == 16);

using Ops = std::vector<Op>;

inline constexpr std::uint8_t kNullOut = 1;                 ///< NULL for the out-parameter
inline constexpr std::uint8_t kNullIn = 2;                  ///< NULL for the structure
inline constexpr std::uint8_t kNoCount = 4;                 ///< cuMemSetAccess of no descriptors
inline constexpr std::uint64_t kNoDescriptor = 0x7ffffff0;  ///< nobody has that many files open
inline constexpr std::uint64_t kGarbage = 0x1234;           ///< a handle that no driver gave
inline constexpr int kThreads = 3;                          ///< of process 0; the others have one
inline constexpr int kProcesses = 2;
inline constexpr std::uint8_t kActors = kThreads + kProcesses - 1;
inline constexpr std::uint64_t kGranule = std::uint64_t{2} << 20;  ///< bytes
inline constexpr std::size_t kMostOps = 200;

/// Who makes an op's call.
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
std::span<const Place> places();
inline constexpr std::uint8_t kHostPlace = 8;
inline constexpr std::uint8_t kNumaPlace = 9;

/// Alignments of a reservation and offsets of a mapping that `extra` selects.
std::span<const std::uint64_t> alignments();
std::span<const std::uint64_t> offsets();

/// What is odd about creation properties, by `extra`: one field of the flattened structure.
struct PropertyTwist {
  const char* key;  ///< as the program text writes it; "" for none
  std::uint64_t value;
};
std::span<const PropertyTwist> twists();

/// What an op binds and asks for.
struct Shape {
  const char* function;  ///< "cuMemMap"
  NameKind makes = NameKind::kNone;
  NameKind ref = NameKind::kNone;
  NameKind ref2 = NameKind::kNone;
};
const Shape& shape(Code code);

/// What `extra` of the calls about external memory says; the bit that needs no name clears it.
inline constexpr std::uint8_t kReservedWord = 1;  ///< a reserved word that is not 0
inline constexpr std::uint8_t kWild = 2;          ///< kNoDescriptor, or kGarbage

/// The device that a place names, or one that does not exist; how many devices `extra` asks for.
int device_number(std::uint8_t place);
constexpr std::uint8_t kAllOnes = 10;
constexpr unsigned team_size(std::uint8_t extra) { return extra == kAllOnes ? ~0u : extra; }

/// What is odd about the properties of a pool, by `extra`.
std::span<const PropertyTwist> pool_twists();
inline constexpr unsigned char kForged = 0xa5;  ///< each byte of a blob that no driver wrote

/// Puts every field into its range and clears those that the call does not use, so that equal calls
/// are equal bytes. Any 16 bytes become a valid op.
void canonicalise(Op& op);

/// Granules and index into kOdd whose sum is `distance`; false when there are none.
bool split(std::uint64_t distance, std::uint8_t& granules, std::uint8_t& odd);

/// The program as bytes: magic and version, then 16 bytes per op.
std::vector<std::uint8_t> encode(const Ops& ops);
/// Any bytes become a program: bad headers and tails are ignored, ops canonical, at most kMostOps.
Ops decode(std::span<const std::uint8_t> bytes);
inline constexpr std::size_t kHeaderBytes = 16;

}  // namespace cuvmm::fuzz
