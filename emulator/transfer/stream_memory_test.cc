// SPDX-License-Identifier: Apache-2.0
// Stream memory operations: words that streams write, combine and wait for.
#include <atomic>
#include <thread>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class StreamMemory : public EmulatorTest {
 protected:
  void SetUp() override {
    EmulatorTest::SetUp();
    m_ = mapped();
    ASSERT_OK(driver()(calls::MemsetD8{m_.address, 0, 4096}));
  }
  void TearDown() override { end(m_); }
  std::uint64_t word(std::size_t offset = 0) {
    std::uint64_t value = 0;
    EXPECT_OK(driver()(calls::MemcpyDtoH{&value, m_.address + offset, sizeof value}));
    return value;
  }
  CUstreamBatchMemOpParams reduction(unsigned op, unsigned type, std::uint64_t value) {
    CUstreamBatchMemOpParams one{};
    StreamAtomicReduction& r = reduction_of(one);
    r.operation = kStreamMemOpAtomicReduction;
    r.reduction = op;
    r.data_type = type;
    r.address = m_.address;
    r.value = value;
    return one;
  }

  Mapped m_;
};

TEST_F(StreamMemory, WritesAreOfTheirWidth) {
  ASSERT_OK(driver()(calls::StreamWriteValue64{.addr = m_.address, .value = ~0ull}));
  ASSERT_OK(driver()(calls::StreamWriteValue32{.addr = m_.address, .value = 5}));
  EXPECT_EQ(word(), 0xffffffff00000005);
  // The names from before CUDA 11.7 behave equally.
  auto* older =
      symbol<std::remove_pointer_t<calls::StreamWriteValue32::Function>>("cuStreamWriteValue32");
  EXPECT_OK(older(nullptr, m_.address + 4, 6, 0));
  EXPECT_EQ(word(), 0x0000000600000005);
}

TEST_F(StreamMemory, ConditionsThatHoldAreNotWaitedFor) {
  ASSERT_OK(driver()(calls::StreamWriteValue32{.addr = m_.address, .value = 6}));
  const auto wait = [&](std::uint32_t value, unsigned flags) {
    return driver()(calls::StreamWaitValue32{.addr = m_.address, .value = value, .flags = flags});
  };
  EXPECT_OK(wait(5, CU_STREAM_WAIT_VALUE_GEQ));
  EXPECT_OK(wait(0xfffffff0, CU_STREAM_WAIT_VALUE_GEQ)) << "values wrap around";
  EXPECT_OK(wait(6, CU_STREAM_WAIT_VALUE_EQ));
  EXPECT_OK(wait(2, CU_STREAM_WAIT_VALUE_AND));
  EXPECT_OK(wait(1, CU_STREAM_WAIT_VALUE_NOR));
}

// As with external semaphores: a thread that waits for the stream does not hold the lock.
TEST_F(StreamMemory, AWaitEndsWhenAnotherThreadWrites) {
  CUcontext context = nullptr;
  CUstream apart = nullptr;
  ASSERT_OK(driver()(calls::CtxGetCurrent{&context}));
  ASSERT_OK(driver()(calls::StreamCreate{&apart, CU_STREAM_NON_BLOCKING}));
  std::atomic<bool> waiting{false};
  std::thread waiter([&] {
    EXPECT_OK(driver()(calls::CtxSetCurrent{context}));
    EXPECT_OK(driver()(calls::StreamWaitValue64{.addr = m_.address, .value = 3}));
    waiting = true;
    EXPECT_OK(driver()(calls::StreamSynchronize{nullptr}));
  });
  while (!waiting) std::this_thread::yield();
  EXPECT_OK(driver()(calls::StreamWriteValue64{.stream = apart, .addr = m_.address, .value = 3}));
  waiter.join();
  EXPECT_OK(driver()(calls::StreamDestroy{apart}));
}

TEST_F(StreamMemory, ABatchIsDoneInItsOrder) {
  CUstreamBatchMemOpParams operations[] = {{},
                                           reduction(kReductionAdd, kReduction64, 1ull << 33),
                                           reduction(kReductionOr, kReduction32, 0x10),
                                           reduction(kReductionAnd, kReduction32, 0x13),
                                           {},
                                           {}};
  operations[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operations[0].writeValue.address = m_.address;
  operations[0].writeValue.value = 7;
  operations[4].operation = CU_STREAM_MEM_OP_BARRIER;
  operations[5].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  operations[5].waitValue.address = m_.address;
  operations[5].waitValue.value = 0x13;
  operations[5].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
  ASSERT_OK(driver()(calls::StreamBatchMemOp{.count = 6, .paramArray = operations}));
  EXPECT_EQ(word(), (1ull << 33) + 0x13);
}

// As on an H200: only the flags of the call are checked before.
TEST_F(StreamMemory, NoFlushIsSupported) {
  CUstreamBatchMemOpParams operations[2]{};
  operations[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operations[0].writeValue.address = m_.address + m_.size;
  operations[1].operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
  calls::StreamBatchMemOp call{.count = 2, .paramArray = operations};
  EXPECT_EQ(driver()(call), CUDA_ERROR_NOT_SUPPORTED);
  call.flags = 1;
  EXPECT_EQ(driver()(call), CUDA_ERROR_INVALID_VALUE);
}

// As on an H200: a single write checks only whether the device may read the word.
TEST_F(StreamMemory, AWriteNeedsNoMoreThanReadAccess) {
  const calls::StreamWriteValue32 call{.addr = m_.address, .value = 7};
  ASSERT_OK(set_access(m_.address, m_.size, access(0, CU_MEM_ACCESS_FLAGS_PROT_READ)));
  EXPECT_OK(driver()(call));
  ASSERT_OK(set_access(m_.address, m_.size, access(0, CU_MEM_ACCESS_FLAGS_PROT_NONE)));
  EXPECT_EQ(driver()(call), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(StreamMemory, NothingIsDoneOfABatchThatIsRefused) {
  CUstreamBatchMemOpParams operations[2]{};
  for (auto& one : operations) {
    one.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    one.writeValue.address = m_.address;
    one.writeValue.value = 7;
  }
  operations[1].writeValue.address = m_.address + m_.size;
  const calls::StreamBatchMemOp call{.count = 2, .paramArray = operations};
  EXPECT_EQ(driver()(call), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(word(), 0u);
  operations[1].writeValue.address = 0x10;
  EXPECT_EQ(driver()(call), CUDA_ERROR_INVALID_VALUE) << "no memory of the driver's";
  EXPECT_EQ(word(), 0u);
}

TEST_F(StreamMemory, TakesDeviceAndPageLockedMemory) {
  CUdeviceptr plain = 0;
  ASSERT_OK(driver()(calls::MemAlloc{&plain, 64}));
  EXPECT_OK(driver()(calls::StreamWriteValue32{.addr = plain + 60, .value = 1}));
  EXPECT_EQ(driver()(calls::StreamWriteValue32{.addr = plain + 64, .value = 1}),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(driver()(calls::MemFree{plain}));
  void* locked = nullptr;
  ASSERT_OK(symbol<CUresult(void**, std::size_t)>("cuMemAllocHost_v2")(&locked, 64));
  EXPECT_OK(driver()(
      calls::StreamWriteValue32{.addr = reinterpret_cast<CUdeviceptr>(locked), .value = 4}));
  EXPECT_EQ(*static_cast<volatile unsigned*>(locked), 4u);
  EXPECT_OK(symbol<CUresult(void*)>("cuMemFreeHost")(locked));
}

TEST_F(StreamMemory, AsksForTheAccessOfTheStreamsDevice) {
  ASSERT_OK(set_access(m_.address, m_.size, access(0, CU_MEM_ACCESS_FLAGS_PROT_READ)));
  EXPECT_OK(driver()(calls::StreamWaitValue32{.addr = m_.address, .value = 0}));
  // Observed on an H200: the write reaches memory that the device may only read, and not memory
  // that it may not touch.
  EXPECT_OK(driver()(calls::StreamWriteValue32{.addr = m_.address, .value = 1}));
  ASSERT_OK(set_access(m_.address, m_.size, access(0, CU_MEM_ACCESS_FLAGS_PROT_NONE)));
  EXPECT_EQ(driver()(calls::StreamWriteValue32{.addr = m_.address, .value = 1}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver()(calls::StreamWaitValue32{.stream = reinterpret_cast<CUstream>(0x999),
                                              .addr = m_.address}),
            CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
