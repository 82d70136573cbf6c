// SPDX-License-Identifier: Apache-2.0
// Makes pools and queries them.
#include <cstring>

#include "fuzz/plain/machine.h"

namespace cuvmm::fuzz::plain {

CUmemoryPool Machine::pool(std::uint8_t ref) const {
  const unsigned name = ref % kPools;
  return name == 0 ? default_pool_ : pools_[name];
}

std::uint32_t Machine::pool_value(CUmemoryPool pool) const {
  if (!pool) return 0;
  if (pool == default_pool_) return kDefaultPool;
  for (unsigned name = 1; name < kPools; ++name) {
    if (pools_[name] == pool) return name;
  }
  return 99;
}

CUresult Machine::pools(const Op& op, Step& step) {
  const unsigned name = op.name % kPools;
  CUmemoryPool asked = pool(op.ref);
  CUmemoryPool out = nullptr;
  // A name without a pool is no argument, because drivers follow such pointers.
  const bool needs_pool = op.code != Code::kPoolCreate && op.code != Code::kPoolDefault &&
                          op.code != Code::kPoolCurrent;
  if (needs_pool && !asked) {
    step.answer.how = Answer::How::kNotRun;
    return CUDA_SUCCESS;
  }
  CUmemLocation location{};
  constexpr int kTypes[] = {1, 1, 1, 2, 3, 1, 0};
  constexpr int kIds[] = {0, 0, 0, 0, 0, 99, 0};
  location.type = static_cast<CUmemLocationType>(pick(kTypes, op.which));
  location.id = pick(kIds, op.which);
  switch (op.code) {
    case Code::kPoolCreate: {
      CUmemPoolProps props{};
      props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
      props.location = location;
      props.handleTypes = static_cast<CUmemAllocationHandleType>(op.value & 1);
      props.maxSize = op.size ? pick(kSizes, op.size) : 0;
      if (name == 0 || pools_[name]) {
        step.answer.how = Answer::How::kNotRun;
        return CUDA_SUCCESS;
      }
      const CUresult result = f_.cuMemPoolCreate(op.faults & kNullOut ? nullptr : &out, &props);
      if (result == CUDA_SUCCESS) pools_[name] = out;
      return result;
    }
    case Code::kPoolDestroy: {
      // A driver damages itself when a pool with memory is destroyed (fuzz/README.md).
      for (const Block& block : blocks_) {
        if (block.kind != Kind::kPooled || block.pool != op.ref % kPools) continue;
        step.answer.how = Answer::How::kLeftOut;
        return CUDA_SUCCESS;
      }
      const CUresult result = f_.cuMemPoolDestroy(asked);
      if (result == CUDA_SUCCESS) pools_[op.ref % kPools] = nullptr;
      return result;
    }
    case Code::kPoolDefault: {
      const CUresult result =
          f_.cuDeviceGetDefaultMemPool(op.faults & kNullOut ? nullptr : &out, location.id);
      step.answer.value = pool_value(out);
      return result;
    }
    case Code::kPoolCurrent: {
      const CUresult result =
          f_.cuDeviceGetMemPool(op.faults & kNullOut ? nullptr : &out, location.id);
      step.answer.value = pool_value(out);
      return result;
    }
    case Code::kPoolSet:
      return f_.cuDeviceSetMemPool(location.id, asked);
    case Code::kPoolTrim:
      return f_.cuMemPoolTrimTo(asked, pick(kThresholds, op.value));
    case Code::kPoolAccess: {
      CUmemAccess_flags flags{};
      const CUresult result =
          f_.cuMemPoolGetAccess(op.faults & kNullOut ? nullptr : &flags, asked, &location);
      step.answer.value = static_cast<std::uint32_t>(flags);
      return result;
    }
    case Code::kPoolSetAccess: {
      CUmemAccessDesc access{};
      access.location = location;
      access.flags = static_cast<CUmemAccess_flags>(op.value & 3);
      return f_.cuMemPoolSetAccess(asked, &access, op.flags % 4 == 3 ? 0 : 1);
    }
    default:
      return pool_attribute(op, asked, step);
  }
}

CUresult Machine::pool_attribute(const Op& op, CUmemoryPool asked, Step& step) {
  const auto number = static_cast<CUmemPool_attribute>(pick(kPoolAttributes, op.which));
  if (op.code == Code::kPoolSetAttribute) {
    std::uint64_t value[2] = {pick(kThresholds, op.value), 0};
    // Driver 580.159.04 crashes on NULL here.
    if (op.faults & kNullOut) {
      step.answer.how = Answer::How::kLeftOut;
      return CUDA_SUCCESS;
    }
    return f_.cuMemPoolSetAttribute(asked, number, value);
  }
  if (op.faults & kNullOut) return f_.cuMemPoolGetAttribute(asked, number, nullptr);
  unsigned char bytes[2][16];
  std::memset(bytes[0], 0, sizeof bytes[0]);
  std::memset(bytes[1], 0xff, sizeof bytes[1]);
  const CUresult result = f_.cuMemPoolGetAttribute(asked, number, bytes[0]);
  if (op.form % 4 == 3) {
    f_.cuMemPoolGetAttribute(asked, number, bytes[1]);
    for (std::uint32_t i = 0; i < sizeof bytes[0]; ++i) {
      if (bytes[0][i] == bytes[1][i]) step.answer.value = i + 1;
    }
    return result;
  }
  std::uint64_t raw = 0;
  std::memcpy(&raw, bytes[0], sizeof raw);
  step.answer.value = static_cast<std::uint32_t>(raw ^ (raw >> 32));
  // The default pool keeps memory of other programs, and counts memory as used after cuMemFree.
  step.value_open = asked == default_pool_ && number >= CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT;
  return result;
}

}  // namespace cuvmm::fuzz::plain
