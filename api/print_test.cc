// SPDX-License-Identifier: Apache-2.0
#include "api/print.h"

#include <gtest/gtest.h>

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

TEST(NumberText, ReadsWell) {
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(1ull << 21), "2M");
  EXPECT_EQ(number_text((1ull << 21) + 1), "2097153");
  EXPECT_EQ(number_text(~0ull), "-1");
  EXPECT_EQ(number_text(0x7f1234567000), "0x7f1234567000");
}

TEST(Words, SizesReadAsAPersonWouldSayThem) {
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
