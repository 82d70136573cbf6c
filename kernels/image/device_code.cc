// SPDX-License-Identifier: Apache-2.0
#include "kernels/image/device_code.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "kernels/image/unpack.h"

namespace cuvmm::kernels {

namespace {

template <class Part>
const Part* named(const std::vector<Part>& all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](auto& p) { return p.name == name; });
  return found == all.end() ? nullptr : &*found;
}

// A fat binary: a header, then entries, each with a header. The constants are positions of the
// fields that are read.
// The magic number of the structure that nvcc puts into a program.
constexpr std::uint32_t kWrapperMagic = 0x466243b1;
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
  int arch = -1;  ///< -1: the object holds no entry
  std::uint64_t flags = 0;
  std::uint64_t unpacked = 0;  ///< bytes after unpacking; 0: the entry is not packed
};

// The entry's bytes, unpacked into `buffer` where the entry is packed. Nothing where the entry is
// broken or packed in an unknown way.
std::optional<std::string_view> contents(const Part& part, std::string& buffer) {
  if (part.arch < 0) return {};
  if (part.unpacked == 0) return part.bytes;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
  if (part.unpacked > kMost) return {};
  std::optional<std::string> found;
  if ((part.flags & kLz4Flag) != 0) found = unpack_lz4(part.bytes, part.unpacked);
  if ((part.flags & kZstdFlag) != 0) found = unpack_zstd(part.bytes, part.unpacked);
  if (!found) return {};
  buffer = std::move(*found);
  return buffer;
}

Part part_of(const CodeBytes& image, std::uint64_t entry, std::size_t own, std::uint64_t payload) {
  Part part;
  part.arch = static_cast<int>(image.at<std::uint32_t>(entry + kEntryArch));
  part.flags = image.at<std::uint64_t>(entry + kEntryFlags);
  part.unpacked = image.at<std::uint64_t>(entry + kEntryUnpacked);
  // The packed bytes have their own length, which is less than the entry's.
  const std::uint64_t packed = image.at<std::uint32_t>(entry + kEntryPacked);
  const bool shorter = part.unpacked != 0 && packed != 0 && packed < payload;
  part.bytes = image.part(entry + own, shorter ? packed : payload);
  return part;
}

bool runs_on(int arch, Capability gpu) { return arch / 10 == gpu.major && arch % 10 <= gpu.minor; }

/// The parts of a fat binary for a GPU: the best cubin, the newest PTX, and the oldest PTX of those
/// that are too new.
struct FatParts {
  Part cubin, ptx, newer;
};

CUresult find_parts(const CodeBytes& image, Capability gpu, FatParts& parts) {
  if (!image.inside(0, kFatLeast)) return CUDA_ERROR_INVALID_IMAGE;
  const std::size_t header = image.at<std::uint16_t>(kFatHeaderSize);
  const std::uint64_t size = image.at<std::uint64_t>(kFatSize);
  if (header < kFatLeast || (image.bounded() && !image.inside(header, size)))
    return CUDA_ERROR_INVALID_IMAGE;
  for (std::uint64_t where = 0; size - where >= kEntryLeast;) {
    const std::uint64_t entry = header + where;
    if (!image.inside(entry, kEntryLeast)) return CUDA_ERROR_INVALID_IMAGE;
    const std::size_t own = image.at<std::uint32_t>(entry + kEntryHeaderSize);
    const std::uint64_t payload = image.at<std::uint64_t>(entry + kEntrySize);
    if (own < kEntryLeast || own > size - where || payload > size - where - own) {
      return CUDA_ERROR_INVALID_IMAGE;
    }
    const Part part = part_of(image, entry, own, payload);
    const int arch = part.arch;
    const std::uint16_t kind = image.at<std::uint16_t>(entry);
    if (kind == kCubinEntry) {
      if (runs_on(arch, gpu) && arch > parts.cubin.arch) parts.cubin = part;
    } else if (kind == kPtxEntry && arch <= gpu.major * 10 + gpu.minor) {
      if (arch > parts.ptx.arch) parts.ptx = part;
    } else if (kind == kPtxEntry && (parts.newer.arch < 0 || arch < parts.newer.arch)) {
      parts.newer = part;
    }
    where += own + payload;
  }
  for (const Part* used : {&parts.cubin, &parts.ptx, &parts.newer}) {
    if (!image.bounded() && !is_readable(used->bytes.data(), used->bytes.size()))
      return CUDA_ERROR_INVALID_IMAGE;
  }
  return CUDA_SUCCESS;
}

std::optional<std::string_view> text_of(const Part& part, std::string& buffer) {
  const auto text = contents(part, buffer);
  if (!text) return {};
  return text->substr(0, strnlen(text->data(), text->size()));
}

// Reads the code of a cubin, if there is one for the GPU, and of PTX.
CUresult read_parts(const Part& best_cubin, std::optional<std::string_view> text, Capability gpu,
                    DeviceCode& code) {
  std::string buffer;
  const auto cubin = contents(best_cubin, buffer);
  if (!cubin) {
    if (text) return read_ptx(*text, code, nullptr);
    code.hidden = true;
    return CUDA_SUCCESS;
  }
  // A cubin describes its kernels best; only PTX can be run, and tells what the cubin is not
  // asked for.
  DeviceCode other;
  if (text && read_ptx(*text, other, nullptr) == CUDA_SUCCESS) code.ptx = std::move(other.ptx);
  const CUresult result = read_cubin({cubin->data(), cubin->size()}, gpu, code);
  for (KernelCode& each : code.kernels) {
    if (const KernelCode* const same = other.kernel(each.name))
      each.most_threads = same->most_threads;
  }
  for (VariableCode& each : code.variables) {
    const VariableCode* const same = other.variable(each.name);
    each.managed = same && same->managed;
  }
  return result;
}

// `any_ptx`: PTX for newer GPUs serves where nothing else does.
CUresult read_fat(const CodeBytes& image, Capability gpu, bool any_ptx, DeviceCode& code) {
  FatParts parts;
  const CUresult found = find_parts(image, gpu, parts);
  if (found != CUDA_SUCCESS) return found;
  if (any_ptx && parts.cubin.arch < 0 && parts.ptx.arch < 0) {
    parts.ptx = parts.newer;
    code.newer = std::max(parts.newer.arch, 0);
  }
  if (parts.cubin.arch < 0 && parts.ptx.arch < 0) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  std::string buffer;
  return read_parts(parts.cubin, text_of(parts.ptx, buffer), gpu, code);
}

// Reads a program whose files nvcc compiled apart (-rdc=true): it has a fat binary that nvcc
// linked, of cubins alone, and `inputs`, the fat binaries of the files, up to a null pointer. Their
// PTX together is a module, because a name that one file defines is declared in others.
CUresult read_linked(const CodeBytes& linked, const void* const* inputs, Capability gpu,
                     DeviceCode& code) {
  FatParts whole;
  const CUresult found = find_parts(linked, gpu, whole);
  if (found != CUDA_SUCCESS) return found;
  std::string together;
  bool some_fits = false;
  int newer = 0;
  for (; is_readable(reinterpret_cast<const char*>(inputs), sizeof *inputs) && *inputs; ++inputs) {
    FatParts parts;
    std::string buffer;
    const CodeBytes input{static_cast<const char*>(*inputs), CodeBytes::kUnknown};
    if (!input.inside(0, kFatLeast) || input.at<std::uint32_t>(0) != kFatMagic ||
        find_parts(input, gpu, parts) != CUDA_SUCCESS)
      return CUDA_ERROR_INVALID_IMAGE;
    some_fits |= parts.ptx.arch >= 0;
    if (whole.cubin.arch < 0 && parts.ptx.arch < 0) {
      parts.ptx = parts.newer;
      newer = std::max(newer, parts.newer.arch);
    }
    const auto text = text_of(parts.ptx, buffer);
    // A library's code may come without PTX; then a kernel that calls it cannot run.
    if (text) together.append(*text).append("\n");
  }
  const bool has_text = !together.empty();
  if (!some_fits) code.newer = newer;  // else the program's own code fits, and a library's does not
  if (!has_text && whole.cubin.arch < 0) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  return read_parts(whole.cubin,
                    has_text ? std::optional<std::string_view>(together) : std::nullopt, gpu, code);
}

// `wrapper`: the structure that nvcc puts into a program. Its version 2 has the files that were
// linked.
CUresult read_wrapper(const CodeBytes& wrapper, Capability gpu, DeviceCode& code) {
  constexpr std::size_t kVersion = 4, kInputs = 16;
  if (!wrapper.inside(kWrapperData, sizeof(const char*))) return CUDA_ERROR_INVALID_IMAGE;
  const CodeBytes image{wrapper.at<const char*>(kWrapperData), CodeBytes::kUnknown};
  if (wrapper.at<std::uint32_t>(kVersion) != 2 || !wrapper.inside(kInputs, sizeof(const char*)))
    return read_fat(image, gpu, true, code);
  return read_linked(image, wrapper.at<const void* const*>(kInputs), gpu, code);
}

}  // namespace

const KernelCode* DeviceCode::kernel(std::string_view name) const { return named(kernels, name); }

const VariableCode* DeviceCode::variable(std::string_view name) const {
  return named(variables, name);
}

CUresult read_device_code(const CodeBytes& image, Capability gpu, DeviceCode& code,
                          const Compiler& compiler) {
  constexpr std::size_t kMagic = 4;
  if (!image.inside(0, 1)) return CUDA_ERROR_INVALID_IMAGE;
  // A text may be shorter than a magic number, and may end at the end of readable memory.
  const std::string_view text = image.text();
  if (text.size() < kMagic) return CUDA_ERROR_INVALID_IMAGE;
  const auto magic = image.at<std::uint32_t>(0);
  if (magic == kWrapperMagic && !image.bounded()) return read_wrapper(image, gpu, code);
  if (magic == kFatMagic) return read_fat(image, gpu, false, code);
  if (std::memcmp(&magic, "\177ELF", kMagic) == 0) return read_cubin(image, gpu, code);
  Compiler own = compiler;
  if (own.architecture == 0) own.architecture = static_cast<unsigned>(gpu.major * 10 + gpu.minor);
  return read_ptx(text, code, &own);
}

}  // namespace cuvmm::kernels
