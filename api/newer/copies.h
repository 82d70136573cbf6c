// SPDX-License-Identifier: Apache-2.0
// Types and values for copies with attributes, batches of them, decompression, stream memory
// operations and tensor maps, for headers that lack them. A type has NVIDIA's name, and a
// description in cuvmm's words; a value that only newer headers have is a constant here.
// copies_test.cc compares both with the headers that have them.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#if CUDA_VERSION < 12080
enum CUmemcpyFlags {
  CU_MEMCPY_FLAG_DEFAULT = 0,
  CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE = 1,
};

/// When a copy may read its source.
enum CUmemcpySrcAccessOrder {
  CU_MEMCPY_SRC_ACCESS_ORDER_INVALID = 0,
  CU_MEMCPY_SRC_ACCESS_ORDER_STREAM = 1,
  CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL = 2,
  CU_MEMCPY_SRC_ACCESS_ORDER_ANY = 3,
  CU_MEMCPY_SRC_ACCESS_ORDER_MAX = 0x7fffffff,
};

struct CUmemcpyAttributes {
  CUmemcpySrcAccessOrder srcAccessOrder;
  CUmemLocation srcLocHint;
  CUmemLocation dstLocHint;
  unsigned int flags;
};

enum CUmemcpy3DOperandType {
  CU_MEMCPY_OPERAND_TYPE_POINTER = 1,
  CU_MEMCPY_OPERAND_TYPE_ARRAY = 2,
  CU_MEMCPY_OPERAND_TYPE_MAX = 0x7fffffff,
};

struct CUoffset3D {
  std::size_t x, y, z;
};
struct CUextent3D {
  std::size_t width, height, depth;
};

/// One end of a 3D copy.
struct CUmemcpy3DOperand {
  CUmemcpy3DOperandType type;
  union {
    struct {
      CUdeviceptr ptr;
      std::size_t rowLength;    ///< elements; 0: as wide as the copy
      std::size_t layerHeight;  ///< rows; 0: as high as the copy
      CUmemLocation locHint;
    } ptr;
    struct {
      CUarray array;
      CUoffset3D offset;
    } array;
  } op;
};

struct CUDA_MEMCPY3D_BATCH_OP {
  CUmemcpy3DOperand src, dst;
  CUextent3D extent;
  CUmemcpySrcAccessOrder srcAccessOrder;
  unsigned int flags;
};

enum CUmemDecompressAlgorithm {
  CU_MEM_DECOMPRESS_UNSUPPORTED = 0,
  CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE = 1,
  CU_MEM_DECOMPRESS_ALGORITHM_SNAPPY = 2,
};

struct CUmemDecompressParams {
  std::size_t srcNumBytes;
  std::size_t dstNumBytes;  ///< bytes that the operation will write, or 0
  cuuint32_t* dstActBytes;  ///< in device memory: bytes that it wrote
  const void* src;
  void* dst;
  CUmemDecompressAlgorithm algo;
  unsigned char padding[20];
};

enum CUtensorMapIm2ColWideMode {
  CU_TENSOR_MAP_IM2COL_WIDE_MODE_W = 0,
  CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128 = 1,
};
#endif

namespace cuvmm {

/// Usage bit of cuMemCreate, since 12.8: memory for the decompression engine.
inline constexpr unsigned kUsageDecompress = 2;
/// The same bit of cuMemPoolCreate.
inline constexpr unsigned kPoolUsageDecompress = 2;

/// A stream memory operation since 13.1, which combines a word with a value. A plain number,
/// because no value of the older enum is so large.
inline constexpr int kStreamMemOpAtomicReduction = 8;

/// The parameters of that operation, as they lie in CUstreamBatchMemOpParams.
struct StreamAtomicReduction {
  int operation;
  unsigned int flags;
  unsigned int reduction;  ///< kReductionAdd, kReductionAnd, kReductionOr
  unsigned int data_type;  ///< kReduction32, kReduction64
  CUdeviceptr address;
  cuuint64_t value;
  CUdeviceptr alias;
};
inline constexpr unsigned kReductionAdd = 0;
inline constexpr unsigned kReductionAnd = 5;
inline constexpr unsigned kReductionOr = 6;
inline constexpr unsigned kReduction32 = 14;
inline constexpr unsigned kReduction64 = 22;

/// The parameters of an operation of that type.
inline const StreamAtomicReduction& reduction_of(const CUstreamBatchMemOpParams& operation) {
  return reinterpret_cast<const StreamAtomicReduction&>(operation);
}
inline StreamAtomicReduction& reduction_of(CUstreamBatchMemOpParams& operation) {
  return reinterpret_cast<StreamAtomicReduction&>(operation);
}

}  // namespace cuvmm
