// SPDX-License-Identifier: Apache-2.0
// Queries memory: attributes, ranges, flags, descriptors, access.
#include <unistd.h>

#include <cstring>

#include "fuzz/plain/extent.h"
#include "fuzz/plain/machine.h"

namespace cuvmm::fuzz::plain {

namespace {

// An output, filled in two ways before the call, to find the bytes that the call wrote.
struct Output {
  alignas(16) unsigned char bytes[2][32];
  Output() {
    std::memset(bytes[0], 0x5a, sizeof bytes[0]);
    std::memset(bytes[1], 0xa5, sizeof bytes[1]);
  }
  std::uint32_t width() const {
    std::uint32_t out = 0;
    for (std::uint32_t i = 0; i < sizeof bytes[0]; ++i) {
      if (bytes[0][i] == bytes[1][i]) out = i + 1;
    }
    return out;
  }
};

// Small memory shares a block of the driver with other memory, at an unknown place.
bool in_shared_block(int attribute, Kind kind) {
  return attribute == CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR && kind != Kind::kMapped &&
         kind != Kind::kRegistered;
}

std::uint32_t folded(std::uint64_t value) {
  return value >> 32 ? 0x70000000u ^ static_cast<std::uint32_t>(value ^ (value >> 32))
                     : static_cast<std::uint32_t>(value);
}

}  // namespace

CUresult Machine::query(const Op& op, Step& step) {
  const Spot at = spot(op.ref, op.at);
  describe(at, step);
  switch (op.code) {
    case Code::kDevicePointer: {
      CUdeviceptr out = 0;
      const CUresult result =
          f_.cuMemHostGetDevicePointer_v2(op.faults & kNullOut ? nullptr : &out,
                                          reinterpret_cast<void*>(at.address), op.flags & 3u);
      step.answer.value = pointer_value(out, at.name);
      return result;
    }
    case Code::kHostFlags: {
      unsigned out = 0;
      const CUresult result = f_.cuMemHostGetFlags(op.faults & kNullOut ? nullptr : &out,
                                                   reinterpret_cast<void*>(at.address));
      step.answer.value = out;
      return result;
    }
    case Code::kAttribute:
      return attribute(op, at, step);
    case Code::kAttributes:
      return attributes(op, at, step);
    case Code::kSetAttribute: {
      if (step.outside) {
        step.answer.how = Answer::How::kLeftOut;
        return CUDA_SUCCESS;
      }
      const unsigned value[4] = {op.value % 3u, 0, 0, 0};
      const auto number = static_cast<CUpointer_attribute>(pick(kAttributes, op.which));
      return f_.cuPointerSetAttribute(op.faults & kNullOut ? nullptr : value, number, at.address);
    }
    case Code::kRange:
      return range(op, at, step);
    case Code::kRangeHandle:
      return range_handle(op, at, step);
    case Code::kRetain: {
      CUmemGenericAllocationHandle handle = 0;
      const CUresult result =
          f_.cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(at.address));
      if (result == CUDA_SUCCESS) f_.cuMemRelease(handle);
      return result;
    }
    default:
      return access(op, at, step);
  }
}

std::uint32_t Machine::attribute_value(int attribute, std::uint64_t raw, const Spot& at) const {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      for (unsigned i = 0; i < 3; ++i) {
        if (raw == reinterpret_cast<std::uint64_t>(contexts_[i])) return i + 1;
      }
      return raw ? 99 : 0;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      // For an address outside of all memory: the address itself or nothing.
      return raw && raw == at.address ? 0x60000000u : pointer_value(raw, at.name);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return pointer_value(raw, at.name);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
      return raw != 0;  // numbers that a driver makes up
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return pool_value(reinterpret_cast<CUmemoryPool>(raw));
    default:
      return folded(raw);
  }
}

CUresult Machine::attribute(const Op& op, const Spot& at, Step& step) {
  const int number = pick(kAttributes, op.which);
  const auto asked = static_cast<CUpointer_attribute>(number);
  const unsigned form = op.form % 4;
  if (op.faults & kNullOut) return f_.cuPointerGetAttribute(nullptr, asked, at.address);
  if (form == 3) {
    Output out;
    const CUresult result = f_.cuPointerGetAttribute(out.bytes[0], asked, at.address);
    f_.cuPointerGetAttribute(out.bytes[1], asked, at.address);
    step.answer.value = out.width();
    return result;
  }
  std::uint64_t raw[4] = {};
  const CUresult result = f_.cuPointerGetAttribute(raw, asked, at.address);
  step.value_open = in_shared_block(number, step.kind);
  step.answer.value = attribute_value(number, raw[0], at);
  return result;
}

// Asks for three attributes at once and looks at one.
CUresult Machine::attributes(const Op& op, const Spot& at, Step& step) {
  const int numbers[3] = {pick(kAttributes, op.which), pick(kAttributes, op.value),
                          pick(kAttributes, op.flags)};
  CUpointer_attribute asked[3];
  std::uint64_t raw[3][4] = {};
  Output out[3];
  const unsigned shown = op.form % 3u;
  const bool width = op.form & 64;
  void* data[3];
  void* again[3];
  for (unsigned i = 0; i < 3; ++i) {
    asked[i] = static_cast<CUpointer_attribute>(numbers[i]);
    data[i] = width ? static_cast<void*>(out[i].bytes[0]) : raw[i];
    again[i] = out[i].bytes[1];
  }
  if (op.faults & kNullOut) data[1] = nullptr;
  if (op.faults & kNullOut2) return f_.cuPointerGetAttributes(3, nullptr, data, at.address);
  const unsigned count = op.size % 8u == 7 ? 0 : 1 + op.size % 3u;
  const CUresult result = f_.cuPointerGetAttributes(count, asked, data, at.address);
  if (width) {
    if (!(op.faults & kNullOut)) f_.cuPointerGetAttributes(count, asked, again, at.address);
    step.answer.value = out[shown].width();
  } else {
    step.answer.value = attribute_value(numbers[shown], raw[shown][0], at);
    step.value_open = in_shared_block(numbers[shown], step.kind);
  }
  return result;
}

CUresult Machine::range(const Op& op, const Spot& at, Step& step) {
  CUdeviceptr base = 0;
  std::size_t size = 0;
  const unsigned form = op.form % 4;  // chooses the output to look at, or the outputs to leave out
  const CUresult result = f_.cuMemGetAddressRange_v2(form >= 2 ? nullptr : &base,
                                                     form == 3 ? nullptr : &size, at.address);
  step.answer.value = form == 0 ? pointer_value(base, at.name) : folded(size);
  return result;
}

CUresult Machine::range_handle(const Op& op, const Spot& at, Step& step) {
  int fd = -1;
  constexpr int kTypes[] = {1, 1, 1, 1, 1, 0, 2};
  std::uint64_t address = at.address;
  // Most forms ask for the whole pages in which the block begins or ends.
  if (op.form % 4 == 1) address = address / 4096 * 4096;
  if (op.form % 4 == 2) address = address / 65536 * 65536;
  if (op.form % 4 == 3) address = address / (2 << 20) * (2 << 20);
  const std::uint64_t size = length(at, op.size) + (at.address - address);
  // The driver's layout decides whether small memory fills a page, and what lies behind the last
  // whole granule or behind the mapping.
  const Length& of = pick(kLengths, op.size);
  const bool whole = of.of == Length::kToPage || of.of == Length::kTo64K || of.of == Length::kTo2M;
  const Block& block = blocks_[at.name];
  const std::uint64_t end = block.kind == Kind::kMapped ? block.device + block.size
                                                        : up(block.device + block.size, kGranule);
  const bool beyond = address + size > end;
  step.by_layout = at.name != 0 && whole && of.bytes != 0 && block.kind != Kind::kMapped;
  // A pool's chunk gets one descriptor, from its first byte on. Only the first memory from a pool
  // is known to lie there. Driver 580.159.04 crashes on a size of gigabytes from there.
  if (block.kind == Kind::kPooled && size > (1u << 30) && size < (1ull << 60)) {
    step.answer.how = Answer::How::kLeftOut;
    return CUDA_SUCCESS;
  }
  const bool later = block.kind == Kind::kPooled && !block.first_of_pool;
  step.outside = step.outside || step.dead;  // a pool keeps freed memory for a while
  step.outside = step.outside || (at.name != 0 && (op.form % 4 == 0 || !whole || beyond || later));
  const CUresult result = f_.cuMemGetHandleForAddressRange(
      op.faults & kNullOut ? nullptr : &fd, address, size,
      static_cast<CUmemRangeHandleType>(pick(kTypes, op.which)), op.flags & 1u);
  if (result == CUDA_SUCCESS && fd >= 0) close(fd);
  step.answer.value = fd >= 0;
  return result;
}

CUresult Machine::access(const Op& op, const Spot& at, Step& step) {
  CUmemLocation location{};
  location.type = static_cast<CUmemLocationType>(op.which % 4u);
  location.id = op.value % 4u == 3 ? 99 : op.value % 4u == 2 ? -1 : 0;
  unsigned long long flags = 0;
  const CUresult result =
      f_.cuMemGetAccess(op.faults & kNullOut ? nullptr : &flags, &location, at.address);
  step.answer.value = folded(flags);
  return result;
}

}  // namespace cuvmm::fuzz::plain
