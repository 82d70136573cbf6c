// SPDX-License-Identifier: Apache-2.0
// Copies with attributes, batches of them, and decompression.
#include <algorithm>

#include "api/default_stream.h"
#include "rulebook/batch/check_operations.h"

namespace cuvmm {
using namespace detail;

namespace detail {

void check_indices(Collector& out, const char* parameter, const void* parts,
                   const std::size_t* first, std::size_t number, std::size_t count) {
  const std::string name = parameter;
  if (!parts || !first || number == 0) {
    out.add(Rule::kCopyArrays,
            name + (number == 0 ? " has no element" : " or what it is for is NULL"));
    return;
  }
  if (number > count) {
    out.add(Rule::kCopyIndices, name + " has " + std::to_string(number) + " elements for " +
                                    std::to_string(count) + " operations");
    return;
  }
  for (std::size_t i = 0; i < number; ++i) {
    const bool begins = i != 0 || first[i] == 0;
    const bool ascends = i == 0 || first[i] > first[i - 1];
    if (begins && ascends && first[i] < count) continue;
    out.add(Rule::kCopyIndices,
            name + "[" + std::to_string(i) + "] is " + std::to_string(first[i]) +
                (!begins    ? ", not 0"
                 : !ascends ? ", and the one before " + std::to_string(first[i - 1])
                            : ", and there are " + std::to_string(count) + " operations"));
    return;
  }
}

void check_batch_stream(Collector& out, CUstream stream, const Facts& facts) {
  if (!is_legacy_stream(stream, facts.place.per_thread)) return;
  out.add(Rule::kCopyBatchStream, "the stream is the legacy default stream");
}

void check_batch_flags(Collector& out, unsigned long long flags) {
  if (flags != 0) out.add(Rule::kCopyBatchFlags, "flags is " + hex_text(flags) + ", not 0");
}

}  // namespace detail

namespace {

void check_order(Collector& out, const std::string& where, CUmemcpySrcAccessOrder order,
                 unsigned flags) {
  const int value = static_cast<int>(order);
  if (value < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM || value > CU_MEMCPY_SRC_ACCESS_ORDER_ANY) {
    out.add(Rule::kCopyOrder, where + "srcAccessOrder is " + std::to_string(value) +
                                  ", not STREAM (1), DURING_API_CALL (2) or ANY (3)");
  }
  if (flags & ~1u) {
    out.add(Rule::kCopyFlags, where + "flags is " + hex_text(flags) + ", not 0 or 1");
  }
}

template <class Batch>
Violations check_batch(const Batch& call, const Facts& facts) {
  Collector out;
  check_batch_stream(out, call.hStream, facts);
  if (!call.dsts || !call.srcs || !call.sizes || call.count == 0) {
    out.add(Rule::kCopyArrays, call.count == 0 ? "count is 0"
                               : !call.dsts    ? "dsts is NULL"
                               : !call.srcs    ? "srcs is NULL"
                                               : "sizes is NULL");
    return out.take();
  }
  check_indices(out, "attrsIdxs", call.attrs, call.attrsIdxs, call.numAttrs, call.count);
  if (call.attrs && call.numAttrs <= call.count) {
    for (std::size_t i = 0; i < call.numAttrs && out.size() < kMostFound; ++i) {
      check_order(out, "attrs[" + std::to_string(i) + "]: ", call.attrs[i].srcAccessOrder,
                  call.attrs[i].flags);
    }
  }
  for (std::size_t i = 0; i < call.count; ++i) {
    if (call.sizes[i] != 0) continue;
    out.add(Rule::kCopySize, "copy " + std::to_string(i) + ": the size is 0");
    break;
  }
  return out.take();
}

void check_operand(Collector& out, const std::string& where, const CUmemcpy3DOperand& one,
                   const CUextent3D& extent) {
  if (one.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) return;
  if (one.type != CU_MEMCPY_OPERAND_TYPE_POINTER) {
    out.add(Rule::kCopyOperand, where + ".type is " + std::to_string(static_cast<int>(one.type)) +
                                    ", not POINTER (1) or ARRAY (2)");
    return;
  }
  const auto& p = one.op.ptr;
  const auto shorter = [&](const char* name, std::size_t given, std::size_t needed) {
    if (given == 0 || given >= needed) return;
    out.add(Rule::kCopyRows, where + "." + name + " is " + std::to_string(given) +
                                 ", and the copy's extent " + std::to_string(needed));
  };
  shorter("rowLength", p.rowLength, extent.width);
  shorter("layerHeight", p.layerHeight, extent.height);
}

void check_copy3d(Collector& out, const std::string& where, const CUDA_MEMCPY3D_BATCH_OP& op) {
  const CUextent3D& extent = op.extent;
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) {
    out.add(Rule::kCopySize, where + "the extent is " + std::to_string(extent.width) + " x " +
                                 std::to_string(extent.height) + " x " +
                                 std::to_string(extent.depth));
  }
  check_operand(out, where + "dst", op.dst, extent);
  check_operand(out, where + "src", op.src, extent);
  check_order(out, where, op.srcAccessOrder, op.flags);
}

template <class Batch>
Violations check_batch3d(const Batch& call, const Facts& facts) {
  Collector out;
  check_batch_stream(out, call.hStream, facts);
  check_batch_flags(out, call.flags);
  if (!call.opList || call.numOps == 0) {
    out.add(Rule::kCopyArrays, call.opList ? "numOps is 0" : "opList is NULL");
    return out.take();
  }
  for (std::size_t i = 0; i < call.numOps && out.size() < kMostFound; ++i) {
    check_copy3d(out, "copy " + std::to_string(i) + ": ", call.opList[i]);
  }
  return out.take();
}

// The kind of the memory, if it was certainly not made for the decompression engine; else "".
std::string not_for_decompression(const Model& model, Address address, Violation& objects) {
  if (const Mapping* m = model.mapping_at(address)) {
    const Allocation* a = model.allocation(m->handle);
    if (!a || !a->prop_known || (a->prop.allocFlags.usage & kUsageDecompress)) return {};
    objects.objects.push_back(ref(*m));
    objects.objects.push_back(ref(*a));
    return "is mapped memory that was created without the usage bit HW_DECOMPRESS";
  }
  const PoolMemory* m = model.pools().memory_at(address);
  const Pool* pool = m ? model.pools().find(m->pool) : nullptr;
  if (!pool || !pool->usage || (*pool->usage & kPoolUsageDecompress)) return {};
  objects.objects.push_back(ref(*m));
  objects.objects.push_back(ref(*pool));
  return "is memory of a pool that was created without the usage bit HW_DECOMPRESS";
}

}  // namespace

Violations check_arguments(const calls::MemcpyBatchAsync& call, const Facts& facts) {
  return check_batch(call, facts);
}
Violations check_arguments(const calls::MemcpyBatchAsync_v2& call, const Facts& facts) {
  return check_batch(call, facts);
}
Violations check_arguments(const calls::Memcpy3DBatchAsync& call, const Facts& facts) {
  return check_batch3d(call, facts);
}
Violations check_arguments(const calls::Memcpy3DBatchAsync_v2& call, const Facts& facts) {
  return check_batch3d(call, facts);
}
Violations check_arguments(const calls::MemcpyWithAttributesAsync& call, const Facts&) {
  Collector out;
  if (!call.attr) {
    out.add(Rule::kCopyAttributesNonnull, "attr is NULL");
  } else {
    check_order(out, "attr: ", call.attr->srcAccessOrder, call.attr->flags);
  }
  return out.take();
}
Violations check_arguments(const calls::Memcpy3DWithAttributesAsync& call, const Facts&) {
  Collector out;
  check_batch_flags(out, call.flags);
  if (!call.op) {
    out.add(Rule::kCopyAttributesNonnull, "op is NULL");
  } else {
    check_copy3d(out, "op: ", *call.op);
  }
  return out.take();
}
Violations check_arguments(const calls::MemBatchDecompressAsync& call, const Facts&) {
  Collector out;
  check_batch_flags(out, call.flags);
  if (!call.paramsArray && call.count != 0) out.add(Rule::kCopyArrays, "paramsArray is NULL");
  const std::size_t count = operations(call);
  for (std::size_t i = 0; i < count && out.size() < kMostFound; ++i) {
    const auto& padding = call.paramsArray[i].padding;
    if (std::all_of(std::begin(padding), std::end(padding), [](auto byte) { return byte == 0; })) {
      continue;
    }
    out.add(Rule::kDecompressPadding,
            "operation " + std::to_string(i) + ": a byte of padding is not 0");
  }
  return out.take();
}

#define CUVMM_CHECK(Name)                                                             \
  Violations check(const Model& model, const calls::Name& call, const Facts& facts) { \
    return check_operations(model, call, facts);                                      \
  }
CUVMM_CHECK(MemcpyBatchAsync)
CUVMM_CHECK(MemcpyBatchAsync_v2)
CUVMM_CHECK(Memcpy3DBatchAsync)
CUVMM_CHECK(Memcpy3DBatchAsync_v2)
CUVMM_CHECK(MemcpyWithAttributesAsync)
CUVMM_CHECK(Memcpy3DWithAttributesAsync)
#undef CUVMM_CHECK

Violations check(const Model& model, const calls::MemBatchDecompressAsync& call,
                 const Facts& facts) {
  Violations all = check_operations(model, call, facts);
  Collector out;
  const std::size_t count = facts.initialized == Facts::Answer::kNo ? 0 : operations(call);
  for (std::size_t i = 0; i < count && out.size() + all.size() < kMostFound; ++i) {
    const Operation one = operation(call, i);
    for (std::size_t k = 0; k < one.count; ++k) {
      Violation objects;
      const std::string why = not_for_decompression(model, one.list[k].base, objects);
      if (why.empty()) continue;
      out.add(Rule::kDecompressCapable, operation_name(call, i) + one.list[k].parameter + ": " +
                                            hex_text(one.list[k].base) + " " + why)
          .objects = objects.objects;
    }
  }
  all.append(out.take());
  return all;
}

}  // namespace cuvmm
