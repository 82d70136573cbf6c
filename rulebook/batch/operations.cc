// SPDX-License-Identifier: Apache-2.0
#include "rulebook/batch/operations.h"

namespace cuvmm {

namespace {

std::uint64_t at(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

Touch touch(const char* parameter, bool write, std::uint64_t base, std::uint64_t width) {
  return {.base = base, .width = width, .write = write, .parameter = parameter};
}

// The device touches the memory, even where the CPU could.
Touch by_device(const char* parameter, bool write, std::uint64_t base, std::uint64_t width) {
  Touch one = touch(parameter, write, base, width);
  one.on_gpu = true;
  return one;
}

Operation copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes, const char* dst,
               const char* src) {
  if (bytes == 0) return {};
  return {.list = {touch(dst, true, to, bytes), touch(src, false, from, bytes)}, .count = 2};
}

template <class Batch>
std::size_t batch_length(const Batch& batch) {
  return batch.dsts && batch.srcs && batch.sizes ? batch.count : 0;
}

template <class Batch>
Operation batch_copy(const Batch& batch, std::size_t i) {
  return copy(batch.dsts[i], batch.srcs[i], batch.sizes[i], "dst", "src");
}

void add_operand(Operation& out, const char* parameter, bool write, const CUmemcpy3DOperand& one,
                 const CUextent3D& extent) {
  if (one.type != CU_MEMCPY_OPERAND_TYPE_POINTER) return;
  const auto& p = one.op.ptr;
  Touch t = touch(parameter, write, p.ptr, extent.width);
  t.pitch = p.rowLength ? p.rowLength : extent.width;
  t.rows = extent.height;
  t.slice_pitch = t.pitch * (p.layerHeight ? p.layerHeight : extent.height);
  t.slices = extent.depth;
  out.list[out.count++] = t;
}

// Takes each element for one byte. An array may have larger elements, but their size is not known
// here.
Operation copy3d(const CUDA_MEMCPY3D_BATCH_OP& op) {
  Operation out;
  const CUextent3D& extent = op.extent;
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return out;
  const bool arrays =
      op.src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY || op.dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY;
  // The places of an array's rows are unknown, except the first bytes.
  const CUextent3D seen = arrays ? CUextent3D{extent.width, 1, 1} : extent;
  add_operand(out, "dst", true, op.dst, seen);
  add_operand(out, "src", false, op.src, seen);
  return out;
}

Operation word(const char* parameter, bool write, std::uint64_t address, std::uint64_t bytes) {
  return {.list = {by_device(parameter, write, address, bytes)}, .count = 1};
}

}  // namespace

std::size_t operations(const calls::MemcpyBatchAsync& c) { return batch_length(c); }
std::size_t operations(const calls::MemcpyBatchAsync_v2& c) { return batch_length(c); }
std::size_t operations(const calls::Memcpy3DBatchAsync& c) { return c.opList ? c.numOps : 0; }
std::size_t operations(const calls::Memcpy3DBatchAsync_v2& c) { return c.opList ? c.numOps : 0; }
std::size_t operations(const calls::MemcpyWithAttributesAsync&) { return 1; }
std::size_t operations(const calls::Memcpy3DWithAttributesAsync& c) { return c.op ? 1 : 0; }
std::size_t operations(const calls::MemBatchDecompressAsync& c) {
  return c.paramsArray ? c.count : 0;
}
std::size_t operations(const calls::StreamWaitValue32&) { return 1; }
std::size_t operations(const calls::StreamWaitValue64&) { return 1; }
std::size_t operations(const calls::StreamWriteValue32&) { return 1; }
std::size_t operations(const calls::StreamWriteValue64&) { return 1; }
std::size_t operations(const calls::StreamBatchMemOp& c) {
  return c.paramArray && c.count < kMostStreamMemOps ? c.count : 0;
}

Operation operation(const calls::MemcpyBatchAsync& c, std::size_t i) { return batch_copy(c, i); }
Operation operation(const calls::MemcpyBatchAsync_v2& c, std::size_t i) { return batch_copy(c, i); }
Operation operation(const calls::Memcpy3DBatchAsync& c, std::size_t i) {
  return copy3d(c.opList[i]);
}
Operation operation(const calls::Memcpy3DBatchAsync_v2& c, std::size_t i) {
  return copy3d(c.opList[i]);
}
Operation operation(const calls::MemcpyWithAttributesAsync& c, std::size_t) {
  return copy(c.dst, c.src, c.size, "dst", "src");
}
Operation operation(const calls::Memcpy3DWithAttributesAsync& c, std::size_t) {
  return copy3d(*c.op);
}
// dstNumBytes is the size that the caller expects, which may be wrong, but the first byte is
// certainly written.
Operation operation(const calls::MemBatchDecompressAsync& c, std::size_t i) {
  const CUmemDecompressParams& one = c.paramsArray[i];
  if (one.srcNumBytes == 0) return {};
  return {.list = {by_device("dst", true, at(one.dst), 1),
                   by_device("src", false, at(one.src), one.srcNumBytes),
                   by_device("dstActBytes", true, at(one.dstActBytes), sizeof(cuuint32_t))},
          .count = 3};
}
Operation operation(const calls::StreamWaitValue32& c, std::size_t) {
  return word("addr", false, c.addr, 4);
}
Operation operation(const calls::StreamWaitValue64& c, std::size_t) {
  return word("addr", false, c.addr, 8);
}
Operation operation(const calls::StreamWriteValue32& c, std::size_t) {
  return word("addr", true, c.addr, 4);
}
Operation operation(const calls::StreamWriteValue64& c, std::size_t) {
  return word("addr", true, c.addr, 8);
}
Operation operation(const calls::StreamBatchMemOp& c, std::size_t i) {
  const CUstreamBatchMemOpParams& one = c.paramArray[i];
  switch (static_cast<int>(one.operation)) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      return word("address", false, one.waitValue.address, 4);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return word("address", false, one.waitValue.address, 8);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return word("address", true, one.writeValue.address, 4);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return word("address", true, one.writeValue.address, 8);
    case kStreamMemOpAtomicReduction: {
      const StreamAtomicReduction& reduction = reduction_of(one);
      const bool known = reduction.data_type == kReduction32 || reduction.data_type == kReduction64;
      return known ? word("address", true, reduction.address,
                          reduction.data_type == kReduction64 ? 8 : 4)
                   : Operation{};
    }
    default:
      return {};
  }
}

}  // namespace cuvmm
