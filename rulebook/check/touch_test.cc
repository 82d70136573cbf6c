// SPDX-License-Identifier: Apache-2.0
#include "rulebook/check/touch.h"

#include <gtest/gtest.h>

namespace cuvmm {
namespace {

template <class CallStruct>
std::size_t of(const CallStruct& call, Touch (&out)[kMaxTouches]) {
  return touches(call, out);
}

TEST(Touches, ACopyReadsItsSourceAndWritesItsDestination) {
  Touch out[kMaxTouches];
  ASSERT_EQ(of(calls::MemcpyDtoD{.dstDevice = 0x1000, .srcDevice = 0x2000, .ByteCount = 8}, out),
            2u);
  EXPECT_EQ(out[0].base, 0x1000u);
  EXPECT_TRUE(out[0].write);
  EXPECT_EQ(out[1].base, 0x2000u);
  EXPECT_FALSE(out[1].write);
}

TEST(Touches, HostMemoryIsNotTouched) {
  Touch out[kMaxTouches];
  char host[8];
  EXPECT_EQ(of(calls::MemcpyHtoDAsync{.dstDevice = 0x1000, .srcHost = host, .ByteCount = 8}, out),
            1u);
  EXPECT_TRUE(out[0].write);
}

TEST(Touches, NothingIsTouchedByNoBytes) {
  Touch out[kMaxTouches];
  EXPECT_EQ(of(calls::MemsetD8{.dstDevice = 0x1000, .N = 0}, out), 0u);
  EXPECT_EQ(of(calls::Memcpy2D{.pCopy = nullptr}, out), 0u);
  EXPECT_EQ(
      of(calls::MemsetD2D8{.dstDevice = 0x1000, .dstPitch = 16, .Width = 16, .Height = 0}, out),
      0u);
}

TEST(Touches, FillsCountElements) {
  Touch out[kMaxTouches];
  of(calls::MemsetD32{.dstDevice = 0x1000, .N = 3}, out);
  EXPECT_EQ(out[0].width, 12u);
  of(calls::MemsetD2D16{.dstDevice = 0x1000, .dstPitch = 64, .Width = 4, .Height = 2}, out);
  EXPECT_EQ(out[0].width, 8u);
  EXPECT_EQ(out[0].pitch, 64u);
  EXPECT_EQ(out[0].rows, 2u);
}

TEST(Touches, A2DCopyStartsAtItsOffsets) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = 0x10000;
  copy.dstPitch = 256;
  copy.dstY = 2;
  copy.dstXInBytes = 16;
  copy.WidthInBytes = 32;
  copy.Height = 4;
  Touch out[kMaxTouches];
  ASSERT_EQ(of(calls::Memcpy2D{.pCopy = &copy}, out), 1u);
  EXPECT_EQ(out[0].base, 0x10000u + 2 * 256 + 16);
  EXPECT_EQ(out[0].rows, 4u);
}

TEST(Touches, A3DPeerCopyNamesItsContexts) {
  CUDA_MEMCPY3D_PEER copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcContext = reinterpret_cast<CUcontext>(1);
  copy.dstContext = reinterpret_cast<CUcontext>(2);
  copy.srcDevice = 0x10000;
  copy.dstDevice = 0x20000;
  copy.srcHeight = 8;
  copy.srcPitch = 64;
  copy.srcZ = 1;
  copy.WidthInBytes = 32;
  copy.Height = 4;
  copy.Depth = 2;
  Touch out[kMaxTouches];
  ASSERT_EQ(of(calls::Memcpy3DPeer{.pCopy = &copy}, out), 2u);
  EXPECT_EQ(out[0].context, copy.dstContext);
  EXPECT_EQ(out[1].context, copy.srcContext);
  EXPECT_TRUE(out[1].peer_source);
  EXPECT_EQ(out[1].base, 0x10000u + 64 * 8);
  EXPECT_EQ(out[1].slice_pitch, 64u * 8);
  EXPECT_EQ(out[0].slice_pitch, 32u * 4);  // a pitch of 0 is a packed row
}

}  // namespace
}  // namespace cuvmm
