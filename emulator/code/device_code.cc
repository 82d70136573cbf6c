// SPDX-License-Identifier: Apache-2.0
#include "emulator/code/device_code.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "emulator/code/packed/unpack.h"

namespace cuvmm::emulator {

namespace {

template <class Value>
Value at(const char* bytes, std::size_t offset) {
  Value value;
  std::memcpy(&value, bytes + offset, sizeof value);
  return value;
}

template <class Part>
const Part* named(const std::vector<Part>& all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](auto& p) { return p.name == name; });
  return found == all.end() ? nullptr : &*found;
}

// A fat binary: a header, and entries each with a header of its own. Positions of what is used.
constexpr std::uint32_t kWrapperMagic = 0x466243b1;  // what nvcc puts into a program
constexpr std::size_t kWrapperData = 8;
constexpr std::uint32_t kFatMagic = 0xba55ed50;
constexpr std::size_t kFatHeaderSize = 6, kFatSize = 8, kFatLeast = 16;
constexpr std::size_t kEntryHeaderSize = 4, kEntrySize = 8, kEntryPacked = 16, kEntryArch = 28,
                      kEntryFlags = 40, kEntryUnpacked = 56;
constexpr std::size_t kEntryLeast = 64;
constexpr std::uint16_t kPtxEntry = 1, kCubinEntry = 2;
constexpr std::uint64_t kLz4Flag = 0x2000, kZstdFlag = 0x8000;

/// One entry of a fat binary.
struct Part {
  std::string_view bytes;
  int arch = -1;  ///< -1: there is none
  std::uint64_t flags = 0;
  std::uint64_t unpacked = 0;  ///< its size before it was packed; 0: it is not
};

// What was packed is put into `room`. Nothing where it was packed in a way that is not known, or is
// broken.
std::optional<std::string_view> contents(const Part& part, std::string& room) {
  if (part.arch < 0) return {};
  if (part.unpacked == 0) return part.bytes;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
  if (part.unpacked > kMost) return {};
  std::optional<std::string> found;
  if ((part.flags & kLz4Flag) != 0) found = unpack_lz4(part.bytes, part.unpacked);
  if ((part.flags & kZstdFlag) != 0) found = unpack_zstd(part.bytes, part.unpacked);
  if (!found) return {};
  room = std::move(*found);
  return room;
}

Part part_of(const char* entry, std::size_t own, std::uint64_t payload) {
  Part part;
  part.arch = static_cast<int>(at<std::uint32_t>(entry, kEntryArch));
  part.flags = at<std::uint64_t>(entry, kEntryFlags);
  part.unpacked = at<std::uint64_t>(entry, kEntryUnpacked);
  // What is packed has an end of its own, before that of the entry.
  const std::uint64_t packed = at<std::uint32_t>(entry, kEntryPacked);
  const bool shorter = part.unpacked != 0 && packed != 0 && packed < payload;
  part.bytes = {entry + own, shorter ? packed : payload};
  return part;
}

bool runs_on(int arch, Capability gpu) { return arch / 10 == gpu.major && arch % 10 <= gpu.minor; }

// The best cubin for the GPU, else its newest PTX.
CUresult read_fat(const char* image, std::size_t limit, Capability gpu, DeviceCode& code) {
  if (limit < kFatLeast) return CUDA_ERROR_INVALID_IMAGE;
  const std::size_t header = at<std::uint16_t>(image, kFatHeaderSize);
  const std::uint64_t size = at<std::uint64_t>(image, kFatSize);
  if (header < kFatLeast || header > limit || size > limit - header)
    return CUDA_ERROR_INVALID_IMAGE;
  Part best_cubin, best_ptx;
  for (std::uint64_t where = 0; size - where >= kEntryLeast;) {
    const char* entry = image + header + where;
    const std::size_t own = at<std::uint32_t>(entry, kEntryHeaderSize);
    const std::uint64_t payload = at<std::uint64_t>(entry, kEntrySize);
    if (own < kEntryLeast || own > size - where || payload > size - where - own) {
      return CUDA_ERROR_INVALID_IMAGE;
    }
    const Part part = part_of(entry, own, payload);
    const int arch = part.arch;
    const std::uint16_t kind = at<std::uint16_t>(entry, 0);
    const bool fits = kind == kCubinEntry ? runs_on(arch, gpu) : arch <= gpu.major * 10 + gpu.minor;
    Part& best = kind == kCubinEntry ? best_cubin : best_ptx;
    if (fits && arch > best.arch && (kind == kCubinEntry || kind == kPtxEntry)) best = part;
    where += own + payload;
  }
  if (best_cubin.arch < 0 && best_ptx.arch < 0) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  std::string cubin_room, ptx_room;
  const auto cubin = contents(best_cubin, cubin_room), ptx = contents(best_ptx, ptx_room);
  const auto text = ptx ? ptx->substr(0, strnlen(ptx->data(), ptx->size())) : std::string_view{};
  if (!cubin) {
    if (ptx) return read_ptx(text, code);
    code.hidden = true;
    return CUDA_SUCCESS;
  }
  // A cubin says the most of its kernels; only PTX can be run.
  if (DeviceCode other; ptx && read_ptx(text, other) == CUDA_SUCCESS) {
    code.ptx = std::move(other.ptx);
  }
  return read_cubin(cubin->data(), cubin->size(), gpu, code);
}

}  // namespace

const KernelCode* DeviceCode::kernel(std::string_view name) const { return named(kernels, name); }

const VariableCode* DeviceCode::variable(std::string_view name) const {
  return named(variables, name);
}

CUresult read_device_code(const char* image, std::size_t limit, Capability gpu, DeviceCode& code) {
  constexpr std::size_t kMagic = 4;
  // Text may be shorter than a magic number; its end shows before.
  if (limit < kMagic || strnlen(image, kMagic) < kMagic) return CUDA_ERROR_INVALID_IMAGE;
  const auto magic = at<std::uint32_t>(image, 0);
  if (magic == kWrapperMagic && limit == SIZE_MAX) {
    return read_fat(at<const char*>(image, kWrapperData), limit, gpu, code);
  }
  if (magic == kFatMagic) return read_fat(image, limit, gpu, code);
  if (std::memcmp(image, "\177ELF", kMagic) == 0) return read_cubin(image, limit, gpu, code);
  return read_ptx({image, limit == SIZE_MAX ? std::strlen(image) : strnlen(image, limit)}, code);
}

}  // namespace cuvmm::emulator
