// SPDX-License-Identifier: Apache-2.0
// One call about plain memory as 16 bytes: cuMemAlloc, pitched, host, registered, pooled and mapped
// memory, queries, and every shape of fill and copy.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace cuvmm::fuzz::plain {

/// The values are the binary format: add at the end only.
enum class Code : std::uint8_t {
  kContext,
  kAlloc,
  kAllocPitch,
  kAllocHost,
  kHostAlloc,
  kRegister,
  kUnregister,
  kFree,
  kFreeHost,
  kAllocAsync,
  kAllocPool,
  kFreeAsync,
  kMap,    ///< reserve, create, map, set access
  kUnmap,  ///< the reverse
  kDevicePointer,
  kHostFlags,
  kAttribute,
  kAttributes,
  kSetAttribute,
  kRange,        ///< cuMemGetAddressRange
  kRangeHandle,  ///< cuMemGetHandleForAddressRange
  kRetain,
  kAccess,
  kFill,
  kFill2D,
  kCopy,
  kCopy2D,
  kCopy3D,
  kPoolCreate,
  kPoolDestroy,
  kPoolDefault,
  kPoolCurrent,
  kPoolSet,
  kPoolAttribute,
  kPoolSetAttribute,
  kPoolTrim,
  kPoolAccess,
  kPoolSetAccess,
  kBatch,  ///< cuMemcpyBatchAsync, of CUDA 13.0
  kCopyPeer,
  kCopy3DPeer,
  kCount
};
inline constexpr std::size_t kCodes = static_cast<std::size_t>(Code::kCount);
constexpr bool is_fill(Code code) { return code == Code::kFill || code == Code::kFill2D; }
constexpr bool is_copy(Code code) {
  return (code >= Code::kCopy && code <= Code::kCopy3D) ||
         (code >= Code::kBatch && code <= Code::kCopy3DPeer);
}
constexpr bool is_data(Code code) { return is_fill(code) || is_copy(code); }
constexpr bool is_of_pool(Code code) {
  return code >= Code::kPoolCreate && code <= Code::kPoolSetAccess;
}
/// Copies of rows or slices, by descriptor.
constexpr bool has_descriptor(Code code) {
  return code == Code::kCopy2D || code == Code::kCopy3D || code == Code::kCopy3DPeer;
}

/// Fields are indices into the tables below, taken modulo their length: any 16 bytes are an op.
struct Op {
  Code code = Code::kContext;
  std::uint8_t name = 0;    ///< the block or pool that it binds
  std::uint8_t ref = 0;     ///< block or pool; the destination of a copy; 0: see kNowhere
  std::uint8_t ref2 = 0;    ///< source of a copy; pool of an allocation
  std::uint8_t at = 0;      ///< kPlaces: where in the block
  std::uint8_t at2 = 0;     ///< place in the source
  std::uint8_t size = 0;    ///< kSizes, or for data kLengths: bytes of a row
  std::uint8_t height = 0;  ///< kHeights
  std::uint8_t depth = 0;   ///< kHeights
  std::uint8_t pitch = 0;   ///< kPitches
  std::uint8_t pitch2 = 0;  ///< pitch of the source
  std::uint8_t form = 0;    ///< one of several functions, or the output to look at
  std::uint8_t which = 0;   ///< attribute, element, memory types, location
  std::uint8_t value = 0;
  std::uint8_t flags = 0;
  std::uint8_t faults = 0;  ///< kNullOut, kNullOut2, kWild

  friend bool operator==(const Op&, const Op&) = default;
};
static_assert(sizeof(Op) == 16);
using Ops = std::vector<Op>;

inline constexpr std::uint8_t kNullOut = 1;
inline constexpr std::uint8_t kNullOut2 = 2;
inline constexpr std::uint8_t kWild =
    128;  ///< makes the call although it touches memory outside of its block

inline constexpr unsigned kBlocks = 48;  ///< names of blocks are 1..kBlocks-1
inline constexpr unsigned kPools = 8;    ///< names of pools are 1..kPools-1
inline constexpr std::size_t kMostOps = 100;

enum class Kind : std::uint8_t {
  kNone,
  kPlain,
  kPitched,
  kHost,
  kRegistered,
  kPageable,  ///< the program's own memory, after a registration was refused or ended
  kPooled,
  kMapped,
  kCount
};
const char* kind_name(Kind kind);

/// Sizes of allocations, in bytes.
inline constexpr std::uint64_t kSizes[] = {0,       1,           3,
                                           100,     256,         511,
                                           512,     513,         1000,
                                           4096,    5000,        8192,
                                           65536,   100000,      1 << 20,
                                           1100000, 2 << 20,     (2 << 20) + 4096,
                                           4 << 20, 5 << 20,     std::uint64_t{1} << 44,
                                           ~0ull,   ~0ull - 511, std::uint64_t{1} << 63};

/// A place in a block, or beside it: an anchor and a distance.
enum class Anchor : std::uint8_t { kStart, kMiddle, kEnd, kEnd512, kEnd4K, kEnd64K, kEnd2M };
struct Place {
  Anchor anchor;
  std::int64_t distance;
};
inline constexpr Place kPlaces[] = {
    {Anchor::kStart, 0},     {Anchor::kStart, 1},   {Anchor::kStart, 2},    {Anchor::kStart, 4},
    {Anchor::kStart, 16},    {Anchor::kStart, 256}, {Anchor::kStart, 4096}, {Anchor::kMiddle, 0},
    {Anchor::kEnd, -1},      {Anchor::kEnd, -4},    {Anchor::kEnd, -16},    {Anchor::kEnd, -4096},
    {Anchor::kEnd, 0},       {Anchor::kEnd, 1},     {Anchor::kEnd512, -1},  {Anchor::kEnd512, 0},
    {Anchor::kEnd4K, 0},     {Anchor::kEnd64K, 0},  {Anchor::kEnd2M, -1},   {Anchor::kEnd2M, 0},
    {Anchor::kStart, -1},    {Anchor::kStart, 8},   {Anchor::kStart, 3},    {Anchor::kStart, 512},
    {Anchor::kStart, -4096},
};
/// The addresses of a reference to no block. Addresses where one process may have memory and
/// another none are left out.
inline constexpr std::uint64_t kPageableBuffer = 1;  ///< the machine's own buffer
inline constexpr std::uint64_t kGuardPage = 2;       ///< the machine's inaccessible page
inline constexpr std::uint64_t kNowhere[] = {
    0, kPageableBuffer, 4096, 0x1234000, std::uint64_t{1} << 47, ~0ull - 4095, kGuardPage};

/// Lengths of data: bytes, or a share of the rest of the block behind the place.
struct Length {
  enum : std::uint8_t { kBytes, kRest, kHalf, kToPage, kTo64K, kTo2M } of;
  std::uint64_t bytes;  ///< added
};
inline constexpr Length kLengths[] = {{Length::kBytes, 0},
                                      {Length::kBytes, 1},
                                      {Length::kBytes, 2},
                                      {Length::kBytes, 3},
                                      {Length::kBytes, 4},
                                      {Length::kBytes, 16},
                                      {Length::kBytes, 100},
                                      {Length::kBytes, 256},
                                      {Length::kBytes, 512},
                                      {Length::kBytes, 1000},
                                      {Length::kBytes, 4096},
                                      {Length::kRest, 0},
                                      {Length::kHalf, 0},
                                      {Length::kRest, ~0ull},
                                      {Length::kRest, 1},
                                      {Length::kRest, 512},
                                      {Length::kToPage, 0},
                                      {Length::kTo64K, 0},
                                      {Length::kTo2M, 0},
                                      {Length::kToPage, 4096},
                                      {Length::kTo64K, 4096},
                                      {Length::kTo2M, 4096},
                                      {Length::kBytes, 65536},
                                      {Length::kBytes, 2 << 20},
                                      {Length::kBytes, std::uint64_t{1} << 32},
                                      {Length::kBytes, ~0ull},
                                      {Length::kBytes, 20},
                                      {Length::kBytes, 8}};
inline constexpr std::uint64_t kHeights[] = {1, 0, 2, 3, 5, 16, 100, 65536};
/// Pitches: of the block, of the row, or odd ones.
struct Pitch {
  enum : std::uint8_t { kRow, kBlock, kBytes } of;
  std::uint64_t bytes;  ///< added
};
inline constexpr std::uint64_t kMostPitch = 0x7fffffff;
inline constexpr Pitch kPitches[] = {{Pitch::kRow, 0},
                                     {Pitch::kBlock, 0},
                                     {Pitch::kBytes, 0},
                                     {Pitch::kRow, ~0ull},
                                     {Pitch::kRow, 1},
                                     {Pitch::kRow, 4},
                                     {Pitch::kBytes, 512},
                                     {Pitch::kBytes, 1024},
                                     {Pitch::kBytes, kMostPitch},
                                     {Pitch::kBytes, kMostPitch + 1},
                                     {Pitch::kBytes, kMostPitch - 511},
                                     {Pitch::kBytes, std::uint64_t{1} << 32},
                                     {Pitch::kBytes, std::uint64_t{1} << 40},
                                     {Pitch::kBytes, 1},
                                     {Pitch::kBytes, 3},
                                     {Pitch::kBytes, 64},
                                     {Pitch::kBytes, 100}};
inline constexpr unsigned kElements[] = {4, 8, 16, 1, 2, 0, 32};  ///< of cuMemAllocPitch
inline constexpr std::uint64_t kThresholds[] = {0, 1, 4096, 1 << 20, 3 << 20, 64 << 20, ~0ull};
/// Attributes of pointers and of pools; the last ones do not exist.
inline constexpr int kAttributes[] = {1,  2,  3,  4,  6,  7,  8,  9,  10, 11, 12, 13,
                                      14, 15, 16, 17, 18, 19, 20, 21, 22, 0,  99, -1};
inline constexpr int kPoolAttributes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0, 99};

template <class T, std::size_t n>
constexpr const T& pick(const T (&table)[n], std::uint8_t index) {
  return table[index % n];
}

/// An op's answer, and the object or value of the call as one number that does not depend on the
/// machine.
struct Answer {
  enum class How : std::uint8_t { kNotRun, kDone, kLeftOut, kDied };
  How how = How::kNotRun;
  std::uint16_t result = 0;
  std::uint32_t value = 0;
  friend bool operator==(const Answer&, const Answer&) = default;
};

/// Clears the fields that the call does not use.
void canonicalise(Op& op);

/// "SUCCESS =3", "left out", "its end", "not run"; error codes are numbers.
std::string answer_text(const Answer& answer);
/// "cuPointerGetAttribute b3[start+1] which=2".
std::string op_text(const Op& op);
const char* function_name(const Op& op);

}  // namespace cuvmm::fuzz::plain
