// SPDX-License-Identifier: Apache-2.0
// Compares the numbers in api/newer/pools.h and api/location.h with the headers that have names for
// them.
#include "api/newer/pools.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "api/location.h"

namespace cuvmm {
namespace {

static_assert(offsetof(CUmemPoolProps, maxSize) + sizeof(std::size_t) == 32);
#if CUDA_VERSION >= 13000
static_assert(kManagedMemory == CU_MEM_ALLOCATION_TYPE_MANAGED);
static_assert(kLocationNone == CU_MEM_LOCATION_TYPE_NONE);
static_assert(offsetof(CUmemPoolProps, usage) == 32);
#endif
#if CUDA_VERSION >= 13020
static_assert(kPoolAttributeAllocationType == CU_MEMPOOL_ATTR_ALLOCATION_TYPE);
static_assert(kPoolAttributeHandleTypes == CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES);
static_assert(kPoolAttributeLocationId == CU_MEMPOOL_ATTR_LOCATION_ID);
static_assert(kPoolAttributeLocationType == CU_MEMPOOL_ATTR_LOCATION_TYPE);
static_assert(kPoolAttributeMaxSize == CU_MEMPOOL_ATTR_MAX_POOL_SIZE);
static_assert(kPoolAttributeHwDecompress == CU_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED);
static_assert(kLocationInvisible == CU_MEM_LOCATION_TYPE_INVISIBLE);
static_assert(kDeviceInvalid == CU_DEVICE_INVALID);
#endif
#if CUDA_VERSION >= 13040
static_assert(kPoolAttributeDomain == CU_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID);
static_assert(kLocationDomain == CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN);
static_assert(kUsageRdmaOverPcie == CU_MEM_CREATE_USAGE_GPU_DIRECT_RDMA_OVER_PCIE);
static_assert(kRangePcie == CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE);
static_assert(kDeviceHostMultinode == CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED);
static_assert(kDeviceLocalityDomains == CU_DEVICE_ATTRIBUTE_LOCALITY_DOMAIN_COUNT);
static_assert(kDeviceLocalizedRdma ==
              CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_LOCALIZED_MEMORY_SUPPORTED);
static_assert(kPointerLocalityDomain == CU_POINTER_ATTRIBUTE_LOCALITY_DOMAIN_ORDINAL);
static_assert(offsetof(CUmemPoolProps, gpuDirectRDMACapable) == 34);

TEST(LocationTest, TheBytesOfADomainAreThoseOfTheHeader) {
  CUmemLocation location{};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN;
  location.localized.deviceId = 3;
  location.localized.localityDomainId = 1;
  EXPECT_EQ(locality_domain(location).device, 3);
  EXPECT_EQ(locality_domain(location).domain, 1);
}
#endif

TEST(LocationTest, ADomainIsOnItsDevice) {
  CUmemLocation location = domain_location(3, 1);
  EXPECT_EQ(device_of(location), 3);
  EXPECT_EQ(locality_domain(location).domain, 1);
  EXPECT_TRUE(is_device(location));
  const CUmemLocation clean = location;
  location.id |= 0x7f0000;  // bytes that mean nothing
  EXPECT_EQ(device_of(location), 3);
  EXPECT_TRUE(same_place(location, clean));
  EXPECT_FALSE(same_place(location, domain_location(3, 0)));
  EXPECT_FALSE(same_place(location, make_location(kLocationDevice, 3)));
}

TEST(LocationTest, OnlyDevicesHaveADevice) {
  EXPECT_EQ(device_of(make_location(kLocationDevice, 2)), 2);
  EXPECT_EQ(device_of(make_location(kLocationHostNuma, 2)), kNoDevice);
  EXPECT_EQ(device_of(make_location(kLocationInvisible, kDeviceInvalid)), kNoDevice);
  EXPECT_TRUE(same_place(make_location(kLocationHost, 1), make_location(kLocationHost, 2)))
      << "the host's id means nothing";
}

TEST(PoolPropsTest, WhatLiesBehindMaxSizeIsReadOfAnyHeader) {
  CUmemPoolProps props{};
  unsigned char bytes[sizeof props] = {};
  bytes[32] = 2;
  bytes[34] = 1;
  bytes[35] = 7;
  std::memcpy(&props, bytes, sizeof props);
  const PoolPropsTail tail = tail_of(props);
  EXPECT_EQ(tail.usage, 2);
  EXPECT_EQ(tail.gpuDirectRDMACapable, 1);
  EXPECT_EQ(tail.reserved[0], 7);
}

TEST(PoolAttributeTest, EachHasTheLengthOfItsType) {
  EXPECT_EQ(pool_attribute_bytes(CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC), sizeof(int));
  EXPECT_EQ(pool_attribute_bytes(CU_MEMPOOL_ATTR_USED_MEM_HIGH), sizeof(cuuint64_t));
  EXPECT_EQ(pool_attribute_bytes(kPoolAttributeMaxSize), sizeof(cuuint64_t));
  EXPECT_EQ(pool_attribute_bytes(kPoolAttributeDomain), sizeof(int));
  EXPECT_EQ(pool_attribute_bytes(static_cast<CUmemPool_attribute>(0)), 0u);
}

}  // namespace
}  // namespace cuvmm
