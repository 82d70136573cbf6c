// SPDX-License-Identifier: Apache-2.0
#include "fuzz/ops/op.h"

#include <algorithm>
#include <cstring>

namespace cuvmm::fuzz {

namespace {

constexpr Place kPlaces[] = {{1, 0}, {1, 1}, {1, 2}, {1, 3},  {1, 4}, {1, 5},  {1, 6}, {1, 7},
                             {2, 0}, {3, 0}, {3, 7}, {1, 99}, {0, 0}, {99, 0}, {4, 0}, {1, -1}};
constexpr std::uint64_t kAlignments[] = {
    0,    kGranule, 2 * kGranule,           8 * kGranule,
    4096, 3,        std::uint64_t{1} << 46, std::uint64_t{1} << 63};
constexpr std::uint64_t kOffsets[] = {0, kGranule, 4096, 0 - kGranule};
constexpr PropertyTwist kPoolTwists[] = {
    {"", 0}, {"allocType", 0}, {"win32_security", 4096}, {"usage", 1}, {"reserved0", 1}};
constexpr PropertyTwist kTwists[] = {{"", 0},          {"rdma", 1},        {"compression", 1},
                                     {"type", 2},      {"type", 0},        {"rdma", 2},
                                     {"usage", 255},   {"compression", 2}, {"reserved0", 1},
                                     {"reserved2", 1}, {"reserved3", 1},   {"win32_metadata", 1}};

constexpr Shape kShapes[kCodes] = {
    {"context"},
    {"cuMemAddressReserve", NameKind::kRange, NameKind::kRange},
    {"cuMemAddressFree", NameKind::kNone, NameKind::kRange},
    {"cuMemCreate", NameKind::kMemory},
    {"cuMemRelease", NameKind::kNone, NameKind::kMemory},
    {"cuMemMap", NameKind::kNone, NameKind::kRange, NameKind::kMemory},
    {"cuMemUnmap", NameKind::kNone, NameKind::kRange},
    {"cuMemSetAccess", NameKind::kNone, NameKind::kRange},
    {"cuMemGetAccess", NameKind::kNone, NameKind::kRange},
    {"cuMemExportToShareableHandle", NameKind::kDescriptor, NameKind::kMemory},
    {"cuMemImportFromShareableHandle", NameKind::kMemory, NameKind::kDescriptor},
    {"close", NameKind::kNone, NameKind::kDescriptor},
    {"cuMemGetAllocationGranularity"},
    {"cuMemGetAllocationPropertiesFromHandle", NameKind::kNone, NameKind::kMemory},
    {"cuMemRetainAllocationHandle", NameKind::kMemory, NameKind::kRange},
    // Its descriptor gets no name: the emulator cannot tell it from an export, which a driver can.
    {"cuMemGetHandleForAddressRange", NameKind::kNone, NameKind::kRange},
    {"cuMemsetD8", NameKind::kNone, NameKind::kRange},
    {"cuMemcpyDtoH", NameKind::kNone, NameKind::kRange},
    {"cuMemcpyHtoD", NameKind::kNone, NameKind::kRange},
    {"cuMemcpyDtoD", NameKind::kNone, NameKind::kRange, NameKind::kRange},
    {"cuMemFree", NameKind::kNone, NameKind::kRange},
    {"cuImportExternalMemory", NameKind::kExternal, NameKind::kDescriptor},
    {"cuExternalMemoryGetMappedBuffer", NameKind::kRange, NameKind::kExternal},
    {"cuDestroyExternalMemory", NameKind::kNone, NameKind::kExternal},
    {"cuMulticastCreate", NameKind::kMemory},
    {"cuMulticastAddDevice", NameKind::kNone, NameKind::kMemory},
    {"cuMulticastBindMem", NameKind::kNone, NameKind::kMemory, NameKind::kMemory},
    {"cuMulticastBindAddr", NameKind::kNone, NameKind::kMemory, NameKind::kRange},
    {"cuMulticastUnbind", NameKind::kNone, NameKind::kMemory},
    {"cuMulticastGetGranularity"},
    {"cuMemPoolCreate", NameKind::kPool},
    {"cuDeviceGetDefaultMemPool", NameKind::kPool},
    {"cuMemPoolDestroy", NameKind::kNone, NameKind::kPool},
    {"cuMemAllocFromPoolAsync", NameKind::kRange, NameKind::kPool},
    {"cuMemFreeAsync", NameKind::kNone, NameKind::kRange},
    {"cuMemPoolSetAccess", NameKind::kNone, NameKind::kPool},
    {"cuDeviceSetMemPool", NameKind::kNone, NameKind::kPool},
    {"cuMemPoolExportToShareableHandle", NameKind::kDescriptor, NameKind::kPool},
    {"cuMemPoolImportFromShareableHandle", NameKind::kPool, NameKind::kDescriptor},
    {"cuMemPoolExportPointer", NameKind::kBlob, NameKind::kRange},
    {"cuMemPoolImportPointer", NameKind::kRange, NameKind::kPool, NameKind::kBlob},
    {"cuMemAlloc", NameKind::kRange},
    {"cuIpcGetMemHandle", NameKind::kBlob, NameKind::kRange},
    {"cuIpcOpenMemHandle", NameKind::kRange, NameKind::kBlob},
    {"cuIpcCloseMemHandle", NameKind::kNone, NameKind::kRange}};

// Which fields a call reads, beside its references.
enum Field : unsigned {
  kSize = 1,
  kFlags = 2,
  kPlace = 4,
  kValue = 8,
  kExtra = 16,
  kOut = 32,
  kIn = 64,
  kNone = 128,
  kOddSize = 256,
  kAddress = 512,
};
constexpr unsigned kFields[kCodes] = {
    kPlace,
    kSize | kOddSize | kFlags | kExtra | kOut | kAddress,
    kSize | kOddSize | kAddress,
    kSize | kOddSize | kFlags | kPlace | kValue | kExtra | kOut | kIn,
    0,
    kSize | kOddSize | kFlags | kExtra | kAddress,
    kSize | kOddSize | kAddress,
    kSize | kOddSize | kPlace | kValue | kExtra | kIn | kNone | kAddress,
    kPlace | kOut | kIn | kAddress,
    kFlags | kValue | kOut,
    kValue | kExtra | kOut,
    0,
    kPlace | kValue | kExtra | kOut | kIn,
    kOut,
    kOut | kAddress,
    kSize | kOddSize | kFlags | kValue | kOut | kAddress,
    kSize | kValue | kExtra | kAddress,
    kSize | kAddress,
    kSize | kValue | kAddress,
    kSize | kAddress,
    kAddress,
    kSize | kOddSize | kFlags | kValue | kExtra | kOut | kIn,
    kSize | kOddSize | kFlags | kExtra | kOut | kIn | kAddress,
    kExtra,
    kSize | kOddSize | kFlags | kValue | kExtra | kOut | kIn,
    kPlace,
    kSize | kOddSize | kFlags | kAddress,
    kSize | kOddSize | kFlags | kAddress,
    kPlace | kSize | kOddSize | kAddress,
    kSize | kFlags | kValue | kExtra | kOut | kIn,
    kPlace | kValue | kExtra | kOut | kIn,
    kPlace,
    0,
    kSize | kOddSize | kOut,
    kAddress,
    kPlace | kValue | kExtra | kIn,
    kPlace,
    kFlags | kValue | kOut,
    kFlags | kValue | kExtra | kOut,
    kAddress | kOut,
    kOut | kIn,
    kSize | kOddSize,
    kAddress | kOut,
    kFlags | kExtra | kOut,
    kAddress};

constexpr std::uint8_t kNoDevicePlace = 11;  // into kPlaces
constexpr std::uint8_t kTebibyte = 7;        // indices into kOdd
constexpr std::uint8_t kTooLarge = 8;
constexpr std::uint8_t kLarge = 11;  // and what follows
constexpr char kMagic[8] = {'c', 'u', 'v', 'm', 'm', 'f', 'z', '1'};

template <class T>
void keep(T& field, bool used) {
  if (!used) field = T{};
}

// The one pair of fields for a distance: fewest odd bytes first.
void settle(std::uint8_t& granules, std::uint8_t& odd) {
  split(granules * kGranule + kOdd[odd], granules, odd);
}

std::uint8_t wrapped(std::uint8_t value, std::size_t count) {
  return static_cast<std::uint8_t>(value % count);
}

}  // namespace

bool split(std::uint64_t distance, std::uint8_t& granules, std::uint8_t& odd) {
  for (std::size_t i = 0; i < kOdds; ++i) {
    const std::uint64_t rest = distance - kOdd[i];
    if (rest % kGranule != 0 || rest / kGranule > 255) continue;
    granules = static_cast<std::uint8_t>(rest / kGranule);
    odd = static_cast<std::uint8_t>(i);
    return true;
  }
  return false;
}

int processes_of(const Ops& ops) {
  int most = 0;
  for (const Op& op : ops) most = std::max(most, process_of(op));
  return most + 1;
}

std::span<const Place> places() { return kPlaces; }
std::span<const std::uint64_t> alignments() { return kAlignments; }
std::span<const std::uint64_t> offsets() { return kOffsets; }
std::span<const PropertyTwist> twists() { return kTwists; }
std::span<const PropertyTwist> pool_twists() { return kPoolTwists; }
int device_number(std::uint8_t place) {
  return kPlaces[place].type == 1 ? kPlaces[place].id : kPlaces[kNoDevicePlace].id;
}
const Shape& shape(Code code) { return kShapes[static_cast<std::size_t>(code)]; }

void canonicalise(Op& op) {
  const std::size_t code = static_cast<std::size_t>(op.code) % kCodes;
  op.code = static_cast<Code>(code);
  const unsigned fields = kFields[code];
  const Shape& s = kShapes[code];
  if (s.makes == NameKind::kNone) {
    op.name = 0;
  } else if (op.name == 0) {
    op.name = 1;
  }
  op.actor = wrapped(op.actor, kActors);
  if (!crosses(op.code)) op.actor = wrapped(op.actor, kThreads);
  keep(op.ref, s.ref != NameKind::kNone);
  keep(op.ref2, s.ref2 != NameKind::kNone);
  const bool two_addresses =
      op.code == Code::kCopy || op.code == Code::kMcBindMem || op.code == Code::kMcBindAddr;
  keep(op.at, fields & kAddress);
  keep(op.odd, fields & kAddress);
  keep(op.at2, two_addresses);
  keep(op.odd2, two_addresses);
  op.odd = wrapped(op.odd, kOdds);
  op.odd2 = wrapped(op.odd2, kOdds);
  keep(op.size, fields & kSize);
  keep(op.odd_size, fields & kOddSize);
  op.odd_size = wrapped(op.odd_size, kOdds);
  keep(op.flags, fields & kFlags);
  keep(op.place, fields & kPlace);
  op.place = wrapped(op.place, op.code == Code::kContext ? kHostPlace : std::size(kPlaces));
  keep(op.value, fields & kValue);
  keep(op.extra, fields & kExtra);
  op.faults &= (fields & kOut ? kNullOut : 0) | (fields & kIn ? kNullIn : 0) |
               (fields & kNone ? kNoCount : 0);
  switch (op.code) {
    case Code::kReserve:
      op.extra = wrapped(op.extra, std::size(kAlignments));
      // Would be thousands of granules and more.
      if (op.odd_size == kTebibyte || op.odd_size >= kLarge) op.odd_size = kTooLarge;
      break;
    case Code::kMap:
      op.extra = wrapped(op.extra, std::size(kOffsets));
      break;
    case Code::kCreate:
      op.extra = wrapped(op.extra, std::size(kTwists));
      op.value &= 31;
      break;
    case Code::kGranularity:  // handle types, and the option from bit 4
      op.extra = wrapped(op.extra, std::size(kTwists));
      op.value &= 63;
      break;
    case Code::kFill:  // 1 << extra bytes per element; addresses are multiples of it
      op.extra = wrapped(op.extra, 3);
      if (kOdd[op.odd] % 4 != 0) op.extra = 0;
      break;
    case Code::kSetAccess:  // a second descriptor: 0 none, else location extra - 1 with READWRITE
      op.extra = wrapped(op.extra, std::size(kPlaces) + 1);
      op.value &= 7;
      break;
    case Code::kExport:
      op.value &= 15;
      break;
    case Code::kImport:  // a fabric handle is passed by pointer: NULL, never a descriptor's number
      op.value &= 15;
      op.extra = op.value == 8 ? 0 : op.extra & 1;
      if (op.value == 8 || op.extra) op.ref = 0;
      break;
    case Code::kRangeHandle:
      op.value &= 3;
      break;
    case Code::kExtImport:
      op.value &= 15;
      if (op.value == 8 || op.value == 9) op.value = 1;  // not known to be refused everywhere
      op.extra &= kReservedWord | kWild;
      if (op.extra & kWild) op.ref = 0;
      break;
    case Code::kExtBuffer:
      op.extra &= kReservedWord | kWild;
      if (op.extra & kWild) op.ref = 0;
      break;
    case Code::kMcCreate:
      op.value &= 31;
      op.extra = wrapped(op.extra, kAllOnes + 1);
      break;
    case Code::kMcGranularity:  // handle types, and the option from bit 4
      op.value &= 63;
      op.extra = wrapped(op.extra, kAllOnes + 1);
      break;
    case Code::kPoolCreate:
      op.value &= 31;
      op.extra = wrapped(op.extra, std::size(kPoolTwists));
      break;
    case Code::kPoolSetAccess:
      op.value &= 7;
      op.extra = wrapped(op.extra, std::size(kPlaces) + 1);
      break;
    case Code::kPoolExport:
      op.value &= 15;
      break;
    case Code::kPoolImport:  // never a fabric handle, which is passed by pointer
      op.value &= 15;
      if (op.value == 8) op.value = 9;
      op.extra &= kWild;
      if (op.extra) op.ref = 0;
      break;
    case Code::kIpcOpen:
      op.extra &= kWild;
      if (op.extra) op.ref = 0;
      break;
    case Code::kPoolDefault:
      op.place = wrapped(op.place, kHostPlace);
      break;
    case Code::kPoolSet:
    case Code::kMcAddDevice:
    case Code::kMcUnbind:
      if (kPlaces[op.place].type != 1) op.place = kNoDevicePlace;
      break;
    case Code::kExtDestroy:
      op.extra &= kWild;
      if (op.extra) op.ref = 0;
      break;
    default:
      break;
  }
  op.flags &= 3;
  settle(op.at, op.odd);
  settle(op.at2, op.odd2);
  if (fields & kOddSize) settle(op.size, op.odd_size);
  // Of none at all, nothing is written.
  if (op.code == Code::kAlloc && op.size == 0 && op.odd_size == 0) op.size = 1;
  // A missing structure has no fields.
  if (op.faults & kNullIn) op.place = op.value = op.extra = 0;
  if (op.faults & kNullIn && op.code >= Code::kExtImport) {
    op.size = op.odd_size = op.flags = op.at = op.odd = 0;
    if (op.code == Code::kExtImport) op.ref = 0;
    if (op.code == Code::kPointerImport) op.ref2 = 0;
  }
  if (op.code == Code::kSetAccess && (op.faults & kNullIn)) op.faults &= ~kNoCount;
}

std::vector<std::uint8_t> encode(const Ops& ops) {
  std::vector<std::uint8_t> bytes(kHeaderBytes + ops.size() * sizeof(Op));
  std::memcpy(bytes.data(), kMagic, sizeof kMagic);
  if (!ops.empty()) std::memcpy(bytes.data() + kHeaderBytes, ops.data(), ops.size() * sizeof(Op));
  return bytes;
}

Ops decode(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kHeaderBytes) return {};
  const std::size_t count = std::min((bytes.size() - kHeaderBytes) / sizeof(Op), kMostOps);
  Ops ops(count);
  if (count) std::memcpy(ops.data(), bytes.data() + kHeaderBytes, count * sizeof(Op));
  for (Op& op : ops) canonicalise(op);
  return ops;
}

}  // namespace cuvmm::fuzz
