// SPDX-License-Identifier: Apache-2.0
// Types and values for pools and for memory in locality domains that newer CUDA versions added, for
// headers that lack them.
#pragma once

#include <cuda.h>

#include <cstring>

namespace cuvmm {

inline constexpr auto kManagedMemory = static_cast<CUmemAllocationType>(2);  ///< CUDA 13.0

/// Bits of CUmemAllocationProp::allocFlags.usage, and of CUmemPoolProps::usage.
inline constexpr unsigned kUsageTilePool = 1;
inline constexpr unsigned kUsageHwDecompress = 2;    ///< CUDA 12.8
inline constexpr unsigned kUsageRdmaOverPcie = 4;    ///< CUDA 13.4; not of pools
inline constexpr unsigned long long kRangePcie = 1;  ///< CUDA 12.8: a dma-buf by way of PCIe

/// Attributes of a pool since CUDA 13.2; the last one since 13.4.
inline constexpr auto kPoolAttributeAllocationType = static_cast<CUmemPool_attribute>(9);
inline constexpr auto kPoolAttributeHandleTypes = static_cast<CUmemPool_attribute>(10);
inline constexpr auto kPoolAttributeLocationId = static_cast<CUmemPool_attribute>(11);
inline constexpr auto kPoolAttributeLocationType = static_cast<CUmemPool_attribute>(12);
inline constexpr auto kPoolAttributeMaxSize = static_cast<CUmemPool_attribute>(13);
inline constexpr auto kPoolAttributeHwDecompress = static_cast<CUmemPool_attribute>(14);
inline constexpr auto kPoolAttributeDomain = static_cast<CUmemPool_attribute>(15);

/// Attributes of a device.
inline constexpr auto kDeviceConcurrentManaged = CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS;
inline constexpr auto kDeviceHostMultinode = static_cast<CUdevice_attribute>(143);    ///< 12.8
inline constexpr auto kDeviceLocalityDomains = static_cast<CUdevice_attribute>(149);  ///< 13.4
inline constexpr auto kDeviceLocalizedRdma = static_cast<CUdevice_attribute>(161);    ///< 13.4

inline constexpr auto kPointerLocalityDomain = static_cast<CUpointer_attribute>(22);  ///< 13.4

/// Bytes of a pool attribute's value; 0 for an attribute that no CUDA version has.
inline std::size_t pool_attribute_bytes(CUmemPool_attribute attribute) {
  switch (static_cast<int>(attribute)) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
    case kPoolAttributeMaxSize:
      return sizeof(cuuint64_t);
    default:
      return attribute >= 1 && attribute <= kPoolAttributeDomain ? sizeof(int) : 0;
  }
}

/// The fields of CUmemPoolProps behind maxSize, whatever names the headers give them.
struct PoolPropsTail {
  unsigned short usage;                ///< CUDA 12.6; reserved before
  unsigned char gpuDirectRDMACapable;  ///< CUDA 13.4; reserved before
  unsigned char reserved[53];
};
static_assert(sizeof(PoolPropsTail) == 56);

inline PoolPropsTail tail_of(const CUmemPoolProps& props) {
  static_assert(sizeof(CUmemPoolProps) == 88);
  PoolPropsTail tail;
  std::memcpy(&tail, reinterpret_cast<const unsigned char*>(&props) + 32, sizeof tail);
  return tail;
}

}  // namespace cuvmm
