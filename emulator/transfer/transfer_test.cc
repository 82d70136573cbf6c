// SPDX-License-Identifier: Apache-2.0
// Copies and fills of every shape, over mappings, plain allocations and host memory.
#include <numeric>
#include <vector>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class Transfer : public EmulatorTest {
 protected:
  void SetUp() override {
    EmulatorTest::SetUp();
    // Two adjacent allocations, whose boundary the tests cross.
    base_ = reserve(2 * kGranule);
    for (int i = 0; i < 2; ++i) {
      handle_[i] = create(kGranule, properties());
      ASSERT_OK(map(base_ + i * kGranule, kGranule, handle_[i]));
    }
    ASSERT_OK(set_access(base_, 2 * kGranule, access()));
    middle_ = base_ + kGranule;
    ASSERT_OK(driver()(calls::MemAlloc{&plain_, 4096}));
    std::iota(host_.begin(), host_.end(), 1);
  }
  void TearDown() override {
    EXPECT_OK(driver()(calls::MemFree{plain_}));
    EXPECT_OK(driver()(calls::MemUnmap{base_, 2 * kGranule}));
    for (auto handle : handle_) EXPECT_OK(driver()(calls::MemRelease{handle}));
    EXPECT_OK(driver()(calls::MemAddressFree{base_, 2 * kGranule}));
  }
  std::vector<unsigned char> read(CUdeviceptr address, std::size_t size) {
    std::vector<unsigned char> bytes(size, 0xee);
    EXPECT_OK(driver()(calls::MemcpyDtoH{bytes.data(), address, size}));
    return bytes;
  }

  CUdeviceptr base_ = 0, middle_ = 0, plain_ = 0;
  CUmemGenericAllocationHandle handle_[2] = {};
  std::vector<unsigned char> host_ = std::vector<unsigned char>(64);
};

TEST_F(Transfer, LinearCopiesCrossMappings) {
  ASSERT_OK(driver()(calls::MemcpyHtoD{middle_ - 32, host_.data(), 64}));
  EXPECT_EQ(read(middle_ - 32, 64), host_);
  ASSERT_OK(driver()(calls::MemcpyDtoD{plain_, middle_ - 32, 64}));
  EXPECT_EQ(read(plain_, 64), host_);
}

TEST_F(Transfer, UnifiedCopiesTakeHostPointersOnEitherSide) {
  const auto host = reinterpret_cast<CUdeviceptr>(host_.data());
  ASSERT_OK(driver()(calls::Memcpy{middle_ - 1, host, 64}));
  std::vector<unsigned char> back(64);
  ASSERT_OK(driver()(
      calls::MemcpyAsync{reinterpret_cast<CUdeviceptr>(back.data()), middle_ - 1, 64, nullptr}));
  EXPECT_EQ(back, host_);
}

TEST_F(Transfer, DeviceParametersTakeNoPageableHostMemory) {
  const auto host = reinterpret_cast<CUdeviceptr>(host_.data());
  EXPECT_EQ(driver()(calls::MemsetD8{host, 0, 1}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::MemcpyDtoD{plain_, host, 1}), CUDA_ERROR_INVALID_VALUE);
  void* locked = nullptr;
  ASSERT_OK(driver()(calls::MemAllocHost{&locked, 64}));
  const auto address = reinterpret_cast<CUdeviceptr>(locked);
  EXPECT_OK(driver()(calls::MemsetD8{address, 3, 64}));
  EXPECT_EQ(static_cast<unsigned char*>(locked)[63], 3);
  EXPECT_EQ(driver()(calls::MemsetD8{address, 3, 65}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(driver()(calls::MemFreeHost{locked}));
}

TEST_F(Transfer, APlainAllocationEndsWhereItEnds) {
  EXPECT_OK(driver()(calls::MemsetD8{plain_ + 4000, 1, 96}));
  EXPECT_EQ(driver()(calls::MemsetD8{plain_ + 4000, 1, 97}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::MemcpyHtoD{plain_ + 4096, host_.data(), 1}), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Transfer, ARefusedCopyMovesNothing) {
  ASSERT_OK(driver()(calls::MemsetD8{base_ + 2 * kGranule - 16, 9, 16}));
  EXPECT_EQ(driver()(calls::MemcpyHtoD{base_ + 2 * kGranule - 16, host_.data(), 64}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(read(base_ + 2 * kGranule - 16, 16), std::vector<unsigned char>(16, 9));
}

TEST_F(Transfer, FillsOfEachWidth) {
  ASSERT_OK(driver()(calls::MemsetD16{middle_ - 2, 0x0201, 2}));
  EXPECT_EQ(read(middle_ - 2, 4), (std::vector<unsigned char>{1, 2, 1, 2}));
  ASSERT_OK(driver()(calls::MemsetD32Async{middle_ - 4, 0x04030201, 2, nullptr}));
  EXPECT_EQ(read(middle_ - 4, 8), (std::vector<unsigned char>{1, 2, 3, 4, 1, 2, 3, 4}));
}

TEST_F(Transfer, FillsOfRowsLeaveTheGapsAlone) {
  ASSERT_OK(driver()(calls::MemsetD8{middle_ - 8, 0, 16}));
  ASSERT_OK(driver()(calls::MemsetD2D8{middle_ - 8, 4, 7, 2, 4}));
  EXPECT_EQ(read(middle_ - 8, 16),
            (std::vector<unsigned char>{7, 7, 0, 0, 7, 7, 0, 0, 7, 7, 0, 0, 7, 7, 0, 0}));
  ASSERT_OK(driver()(calls::MemsetD2D32{middle_ - 8, 8, 0x05050505, 1, 2}));
  EXPECT_EQ(read(middle_ - 8, 16),
            (std::vector<unsigned char>{5, 5, 5, 5, 7, 7, 0, 0, 5, 5, 5, 5, 7, 7, 0, 0}));
}

TEST_F(Transfer, CopiesOfRows) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host_.data();
  copy.srcPitch = 8;
  copy.srcXInBytes = 1;
  copy.srcY = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = middle_ - 8;
  copy.dstPitch = 4;
  copy.WidthInBytes = 3;
  copy.Height = 4;
  ASSERT_OK(driver()(calls::MemsetD8{middle_ - 8, 0, 16}));
  ASSERT_OK(driver()(calls::Memcpy2D{&copy}));
  EXPECT_EQ(read(middle_ - 8, 16), (std::vector<unsigned char>{10, 11, 12, 0, 18, 19, 20, 0, 26, 27,
                                                               28, 0, 34, 35, 36, 0}));
  copy.dstDevice = base_ + 2 * kGranule - 8;
  EXPECT_EQ(driver()(calls::Memcpy2D{&copy}), CUDA_ERROR_INVALID_VALUE)
      << "its last row is outside";
}

TEST_F(Transfer, CopiesOfSlices) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host_.data();
  copy.srcPitch = 4;
  copy.srcHeight = 4;
  copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.dstDevice = middle_ - 4;
  copy.dstPitch = 2;
  copy.dstHeight = 2;
  copy.dstZ = 1;
  copy.WidthInBytes = 2;
  copy.Height = 2;
  copy.Depth = 2;
  ASSERT_OK(driver()(calls::Memcpy3D{&copy}));
  EXPECT_EQ(read(middle_, 8), (std::vector<unsigned char>{1, 2, 5, 6, 17, 18, 21, 22}));
}

TEST_F(Transfer, ABatchIsItsCopies) {
  CUstream stream = nullptr;
  ASSERT_OK(symbol<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&stream, 0));
  const auto host = reinterpret_cast<CUdeviceptr>(host_.data());
  CUdeviceptr to[] = {plain_, plain_ + 100}, from[] = {host, host + 8};
  std::size_t sizes[] = {4, 4};
  calls::MemcpyBatchAsync_v2 batch{};
  batch.dsts = to;
  batch.srcs = from;
  batch.sizes = sizes;
  batch.count = 2;
  batch.hStream = stream;
  EXPECT_EQ(driver()(batch), CUDA_ERROR_INVALID_VALUE) << "no attributes";
  CUmemcpyAttributes attributes[2]{};
  attributes[0].srcAccessOrder = attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  std::size_t firsts[] = {1, 1};
  batch.attrs = attributes;
  batch.attrsIdxs = firsts;
  batch.numAttrs = 1;
  EXPECT_EQ(driver()(batch), CUDA_ERROR_INVALID_VALUE) << "of the second copy on";
  firsts[0] = 0;
  attributes[0].flags = 2;
  EXPECT_EQ(driver()(batch), CUDA_ERROR_INVALID_VALUE) << "no such flag";
  attributes[0].flags = 0;
  batch.hStream = CU_STREAM_LEGACY;
  EXPECT_EQ(driver()(batch), CUDA_ERROR_INVALID_VALUE) << "a default stream";
  batch.hStream = stream;
  sizes[1] = 0;
  EXPECT_EQ(driver()(batch), CUDA_ERROR_INVALID_VALUE) << "an empty copy";
  EXPECT_EQ(read(plain_, 4), (std::vector<unsigned char>{1, 2, 3, 4})) << "the one before it";
  sizes[1] = 4;
  ASSERT_OK(driver()(batch));
  EXPECT_EQ(read(plain_, 4), (std::vector<unsigned char>{1, 2, 3, 4}));
  EXPECT_EQ(read(plain_ + 100, 4), (std::vector<unsigned char>{9, 10, 11, 12}));
  sizes[1] = 5000;
  EXPECT_EQ(driver()(batch), CUDA_ERROR_INVALID_VALUE) << "past the end of its destination";
  EXPECT_OK(symbol<CUresult(CUstream)>("cuStreamDestroy_v2")(stream));
}

TEST_F(Transfer, RowsStayInTheLockedMemoryThatTheCallNames) {
  const auto lock = symbol<CUresult(void*, std::size_t, unsigned)>("cuMemHostRegister_v2");
  const auto unlock = symbol<CUresult(void*)>("cuMemHostUnregister");
  std::vector<unsigned char> memory(3 * 4096);
  void* const base = memory.data();
  const auto copied = [&](std::size_t locked, std::size_t x) {
    EXPECT_OK(lock(base, locked, 0));
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = base;
    copy.srcPitch = 32;
    copy.srcXInBytes = x;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = plain_;
    copy.dstPitch = 16;
    copy.WidthInBytes = 16;
    copy.Height = x == 0 ? 2 : 1;
    const CUresult result = driver()(calls::Memcpy2D{&copy});
    EXPECT_OK(unlock(base));
    return result;
  };
  EXPECT_OK(copied(48, 0));
  EXPECT_EQ(copied(16, 0), CUDA_ERROR_INVALID_VALUE) << "the second row";
  EXPECT_OK(copied(32, 16));
  EXPECT_EQ(copied(8, 16), CUDA_ERROR_INVALID_VALUE) << "begins behind it";
}

TEST_F(Transfer, NoArrayIsRefused) {
  EXPECT_EQ(driver()(calls::MemcpyDtoA{nullptr, 0, plain_, 4}), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Transfer, NeedsAContextAndARealStream) {
  const auto bogus = reinterpret_cast<CUstream>(0x1234);
  EXPECT_EQ(driver()(calls::MemsetD8Async{plain_, 0, 1, bogus}), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_OK(driver()(calls::CtxSetCurrent{nullptr}));
  EXPECT_EQ(driver()(calls::MemsetD8{plain_, 0, 1}), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_OK(driver()(calls::CtxSetCurrent{context_}));
}

}  // namespace
}  // namespace cuvmm::emulator::testing
