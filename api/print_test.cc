// SPDX-License-Identifier: Apache-2.0
#include "api/print.h"

#include <gtest/gtest.h>

#include "api/location.h"
#include "api/newer/pools.h"
#include "api/words.h"

namespace cuvmm {
namespace {

CUmemAllocationProp device_prop(int device) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  return prop;
}

TEST(Print, OmitsOptionalZeroesAndOutParameters) {
  CUdeviceptr out = 0;
  EXPECT_EQ(call_text(calls::MemAddressReserve{.ptr = &out, .size = 4 << 20}),
            "cuMemAddressReserve(4M)");
  EXPECT_EQ(call_text(calls::MemAddressReserve{.ptr = nullptr, .size = 3, .alignment = 2}),
            "cuMemAddressReserve(ptr=null, 3, alignment=2)");
  EXPECT_EQ(call_text(calls::MemMap{0x600000000000, 2 << 20, 0, 77, 0}),
            "cuMemMap(0x600000000000, 2M, 77)");
  EXPECT_EQ(call_text(calls::MemMap{0x600000001000, 5, 1, 77, 8}),
            "cuMemMap(0x600000001000, 5, offset=1, 77, flags=8)");
  EXPECT_EQ(call_text(calls::MemMap{0x302000000, 2 << 20, 0, 77, 0}),
            "cuMemMap(0x302000000, 2M, 77)");
  EXPECT_EQ(call_text(calls::MemMap{0x4000000000, std::size_t{1} << 38, 0, 77, 0}),
            "cuMemMap(0x4000000000, 256G, 77)");
  EXPECT_EQ(call_text(calls::CtxSynchronize{}), "cuCtxSynchronize()");
}

TEST(Print, FlattensProperties) {
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp prop = device_prop(1);
  EXPECT_EQ(call_text(calls::MemCreate{&handle, 1 << 20, &prop, 0}), "cuMemCreate(1M, device=1)");
  prop.location.id = -1;
  prop.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(1 | 8 | 16);
  prop.allocFlags.usage = 3;
  prop.allocFlags.reserved[3] = 9;
  EXPECT_EQ(
      prop_text(prop),
      "device=-1, handle_types=posix_fd|fabric|16, usage=tile_pool|hw_decompress, reserved3=9");
  prop = CUmemAllocationProp{};
  EXPECT_EQ(prop_text(prop), "location=0:0, type=invalid");
  EXPECT_EQ(call_text(calls::MemCreate{&handle, 0, nullptr, 0}), "cuMemCreate(0, prop=null)");
}

TEST(Print, PlacesByTheirNames) {
  EXPECT_EQ(location_text(domain_location(1, 3)), "domain(1, 3)");
  EXPECT_EQ(location_text(make_location(kLocationInvisible, kDeviceInvalid)), "invisible");
  CUmemAllocationProp prop = device_prop(0);
  prop.location = domain_location(0, 1);
  prop.allocFlags.usage = kUsageRdmaOverPcie;
  EXPECT_EQ(prop_text(prop), "domain=0:1, usage=rdma_over_pcie");
}

TEST(Print, ValuesOfAPoolsAttributes) {
  const auto pool = reinterpret_cast<CUmemoryPool>(std::uintptr_t{0x600000000000});
  cuuint64_t threshold = 2 << 20;
  EXPECT_EQ(
      call_text(calls::MemPoolSetAttribute{pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold}),
      "cuMemPoolSetAttribute(0x600000000000, release_threshold, 2M)");
  int off[2] = {-1, 7};  // the printer reads one int, and no more
  EXPECT_EQ(
      call_text(calls::MemPoolSetAttribute{pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, off}),
      "cuMemPoolSetAttribute(0x600000000000, reuse_opportunistic, -1)");
  EXPECT_EQ(call_text(calls::MemPoolSetAttribute{pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, nullptr}),
            "cuMemPoolSetAttribute(0x600000000000, release_threshold, null)");
  EXPECT_EQ(call_text(calls::MemPoolGetAttribute{pool, kPoolAttributeLocationType, off}),
            "cuMemPoolGetAttribute(0x600000000000, location_type)");
  CUmemLocation place = make_location(kLocationDevice, 1);
  CUmemoryPool out = nullptr;
  EXPECT_EQ(call_text(calls::MemGetDefaultMemPool{&out, &place, kManagedMemory}),
            "cuMemGetDefaultMemPool(device1, managed)");
}

TEST(Print, AccessDescriptors) {
  CUmemAccessDesc desc[2] = {};
  desc[0].location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  desc[0].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  desc[1].location.type = static_cast<CUmemLocationType>(99);
  desc[1].location.id = -1;
  desc[1].flags = static_cast<CUmemAccess_flags>(7);
  EXPECT_EQ(call_text(calls::MemSetAccess{4096, 8192, desc, 2}),
            "cuMemSetAccess(4K, 8K, [device0:rw, location(99, -1):flags(7)])");
  EXPECT_EQ(call_text(calls::MemSetAccess{4096, 8192, nullptr, 1}),
            "cuMemSetAccess(4K, 8K, null, count=1)");
}

TEST(Print, ArgumentsNameEveryParameter) {
  CUdeviceptr out = 0;
  const auto arguments = argument_texts(calls::MemAddressReserve{.ptr = &out, .size = 5});
  ASSERT_EQ(arguments.size(), 5u);
  EXPECT_STREQ(arguments[0].name, "ptr");
  EXPECT_EQ(arguments[0].text, "out");
  EXPECT_STREQ(arguments[2].name, "alignment");
  EXPECT_EQ(arguments[2].text, "0");
}

TEST(Print, CopyDescriptorShowsWhatIsSet) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = 0x1000;
  copy.Height = 3;
  EXPECT_EQ(call_text(calls::Memcpy2D{&copy}),
            "cuMemcpy2D({srcMemoryType=device, srcDevice=4K, Height=3})");
}

TEST(Print, OfAUnionWhatItsTypeSays) {
  CUlogicalEndpointProp prop{};
  prop.type = CU_LOGICAL_ENDPOINT_TYPE_MULTICAST;
  prop.multicast.numDevices = 2;
  prop.size = 4 << 20;
  prop.ipcHandleTypes = CU_LOGICAL_ENDPOINT_IPC_HANDLE_TYPE_FABRIC;
  EXPECT_EQ(call_text(calls::LogicalEndpointCreate{7, &prop}),
            "cuLogicalEndpointCreate(7, {type=multicast, numDevices=2, size=4M, "
            "ipcHandleTypes=fabric})");
  prop = {};
  prop.type = CU_LOGICAL_ENDPOINT_TYPE_UNICAST;
  prop.unicast.device = 1;
  EXPECT_EQ(record_text(prop, nullptr), "{type=unicast, device=1}");
  CUDA_FABRIC_COPY_BATCH_OP op{};
  op.src.type = CU_FABRIC_COPY_OPERAND_TYPE_POINTER;
  op.src.op.ptr.ptr = 0x1000;
  op.dst.type = CU_FABRIC_COPY_OPERAND_TYPE_LOGICAL_ENDPOINT;
  op.dst.op.le.id = 7;
  op.dst.op.le.offset = 64;
  op.size = 16;
  EXPECT_EQ(call_text(calls::FabricCpyBatchAsync{1, &op, 0, CU_STREAM_PER_THREAD}),
            "cuFabricCpyBatchAsync(1, [{srcType=pointer, src=4K, dstType=endpoint, dstId=7, "
            "dstOffset=64, size=16}], hStream=2)");
}

TEST(NumberText, ReadsWell) {
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(1ull << 21), "2M");
  EXPECT_EQ(number_text((1ull << 21) + 1), "2097153");
  EXPECT_EQ(number_text(~0ull), "-1");
  EXPECT_EQ(number_text(0x7f1234567000), "0x7f1234567000");
}

TEST(Words, SizesReadAsAPersonWouldSayThem) {
  EXPECT_EQ(rough_size_text(17), "17 B");
  EXPECT_EQ(rough_size_text(24 << 20), "24 MiB");
  EXPECT_EQ(rough_size_text((std::uint64_t{139} << 30) + (819 << 20)), "139.7 GiB");
  EXPECT_EQ(rough_size_text((2 << 20) - 1), "1.9 MiB");
  EXPECT_EQ(rough_size_text(~std::uint64_t{0}), "16777215.9 TiB");
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(17), "17 B");
  EXPECT_EQ(size_text(2 << 20), "2 MiB");
  EXPECT_EQ(size_text(3072), "3 KiB");
  EXPECT_EQ(size_text((2 << 20) + 1), "2 MiB + 1 B");
  EXPECT_EQ(size_text(std::uint64_t{5} << 40), "5 TiB");
  EXPECT_EQ(size_text(~std::uint64_t{0}), "0xffffffffffffffff (-1)");
  EXPECT_EQ(hex_text(0x7f00), "0x7f00");
}

}  // namespace
}  // namespace cuvmm
