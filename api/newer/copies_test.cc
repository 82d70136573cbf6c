// SPDX-License-Identifier: Apache-2.0
// Our declarations for headers that lack them must have the same bytes as NVIDIA's.
#include "api/newer/copies.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace cuvmm {
namespace {

static_assert(sizeof(CUmemcpyAttributes) == 24);
static_assert(offsetof(CUmemcpyAttributes, srcAccessOrder) == 0);
static_assert(offsetof(CUmemcpyAttributes, srcLocHint) == 4);
static_assert(offsetof(CUmemcpyAttributes, dstLocHint) == 12);
static_assert(offsetof(CUmemcpyAttributes, flags) == 20);
static_assert(CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE == 1);
static_assert(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM == 1);
static_assert(CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL == 2);
static_assert(CU_MEMCPY_SRC_ACCESS_ORDER_ANY == 3);

static_assert(sizeof(CUoffset3D) == 24 && sizeof(CUextent3D) == 24);
static_assert(offsetof(CUextent3D, width) == 0);
static_assert(offsetof(CUextent3D, height) == 8);
static_assert(offsetof(CUextent3D, depth) == 16);

static_assert(sizeof(CUmemcpy3DOperand) == 40);
static_assert(offsetof(CUmemcpy3DOperand, type) == 0);
static_assert(offsetof(CUmemcpy3DOperand, op.ptr.ptr) == 8);
static_assert(offsetof(CUmemcpy3DOperand, op.ptr.rowLength) == 16);
static_assert(offsetof(CUmemcpy3DOperand, op.ptr.layerHeight) == 24);
static_assert(offsetof(CUmemcpy3DOperand, op.ptr.locHint) == 32);
static_assert(offsetof(CUmemcpy3DOperand, op.array.array) == 8);
static_assert(offsetof(CUmemcpy3DOperand, op.array.offset) == 16);
static_assert(CU_MEMCPY_OPERAND_TYPE_POINTER == 1 && CU_MEMCPY_OPERAND_TYPE_ARRAY == 2);

static_assert(sizeof(CUDA_MEMCPY3D_BATCH_OP) == 112);
static_assert(offsetof(CUDA_MEMCPY3D_BATCH_OP, src) == 0);
static_assert(offsetof(CUDA_MEMCPY3D_BATCH_OP, dst) == 40);
static_assert(offsetof(CUDA_MEMCPY3D_BATCH_OP, extent) == 80);
static_assert(offsetof(CUDA_MEMCPY3D_BATCH_OP, srcAccessOrder) == 104);
static_assert(offsetof(CUDA_MEMCPY3D_BATCH_OP, flags) == 108);

static_assert(sizeof(CUmemDecompressParams) == 64);
static_assert(offsetof(CUmemDecompressParams, srcNumBytes) == 0);
static_assert(offsetof(CUmemDecompressParams, dstNumBytes) == 8);
static_assert(offsetof(CUmemDecompressParams, dstActBytes) == 16);
static_assert(offsetof(CUmemDecompressParams, src) == 24);
static_assert(offsetof(CUmemDecompressParams, dst) == 32);
static_assert(offsetof(CUmemDecompressParams, algo) == 40);
static_assert(offsetof(CUmemDecompressParams, padding) == 44);
static_assert(CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE == 1 && CU_MEM_DECOMPRESS_ALGORITHM_SNAPPY == 2);

static_assert(CU_TENSOR_MAP_IM2COL_WIDE_MODE_W == 0 && CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128 == 1);

static_assert(sizeof(CUstreamBatchMemOpParams) == 48);
static_assert(sizeof(StreamAtomicReduction) <= sizeof(CUstreamBatchMemOpParams));
static_assert(offsetof(StreamAtomicReduction, flags) == 4);
static_assert(offsetof(StreamAtomicReduction, reduction) == 8);
static_assert(offsetof(StreamAtomicReduction, data_type) == 12);
static_assert(offsetof(StreamAtomicReduction, address) == 16);
static_assert(offsetof(StreamAtomicReduction, value) == 24);
static_assert(offsetof(StreamAtomicReduction, alias) == 32);

#if CUDA_VERSION >= 12080
static_assert(CU_MEM_CREATE_USAGE_HW_DECOMPRESS == kUsageDecompress);
static_assert(CU_MEM_POOL_CREATE_USAGE_HW_DECOMPRESS == kPoolUsageDecompress);
#endif
#if CUDA_VERSION >= 13010
static_assert(static_cast<int>(CU_STREAM_MEM_OP_ATOMIC_REDUCTION) == kStreamMemOpAtomicReduction);
static_assert(CU_STREAM_ATOMIC_REDUCTION_OP_ADD == kReductionAdd);
static_assert(CU_STREAM_ATOMIC_REDUCTION_OP_AND == kReductionAnd);
static_assert(CU_STREAM_ATOMIC_REDUCTION_OP_OR == kReductionOr);
static_assert(CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32 == kReduction32);
static_assert(CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_64 == kReduction64);
static_assert(offsetof(CUstreamBatchMemOpParams, atomicReduction.flags) == 4);
static_assert(offsetof(CUstreamBatchMemOpParams, atomicReduction.reductionOp) == 8);
static_assert(offsetof(CUstreamBatchMemOpParams, atomicReduction.dataType) == 12);
static_assert(offsetof(CUstreamBatchMemOpParams, atomicReduction.address) == 16);
static_assert(offsetof(CUstreamBatchMemOpParams, atomicReduction.value) == 24);
#endif

TEST(NewerCopies, AReductionLiesInTheOperation) {
  CUstreamBatchMemOpParams operation{};
  reduction_of(operation).operation = kStreamMemOpAtomicReduction;
  reduction_of(operation).address = 0x1000;
  EXPECT_EQ(static_cast<int>(operation.operation), kStreamMemOpAtomicReduction);
  EXPECT_EQ(operation.pad[2], 0x1000u);
}

}  // namespace
}  // namespace cuvmm
