// SPDX-License-Identifier: Apache-2.0
// Memory and late work: which calls wait for the work, what memory the work finds when it runs, and
// which errors follow.
#include "emulator/stream/testing_late.h"

namespace cuvmm::emulator::testing {
namespace {

class LateMemory : public LateTest {
 protected:
  /// The fault of a fill; the fault of a kernel, or of a word that a stream waits for, is
  /// ILLEGAL_ADDRESS (recorded).
  static constexpr CUresult kFillFault = CUDA_ERROR_LAUNCH_FAILED;

  /// Expects that all later calls answer the fault, except calls that need no usable context.
  void expect_fault(CUresult fault) {
    EXPECT_EQ(synchronise(a_), fault);
    EXPECT_EQ(synchronise_context(), fault);
    CUdeviceptr at = 0;
    EXPECT_EQ(driver()(calls::MemAlloc{&at, 64}), fault);
    EXPECT_EQ(write(words_[0], 1, b_), fault);
    EXPECT_EQ(query(b_), fault);
    CUcontext current = nullptr;
    EXPECT_OK(driver()(calls::CtxGetCurrent{&current}));
    EXPECT_EQ(current, context_);
  }
};

TEST_F(LateMemory, UnmappedMemoryIsAFault) {
  const Mapped m = mapped();
  ASSERT_OK(fill(m.address, 1, a_));
  ASSERT_OK(write(words_[1], 1, a_));
  end(m);  // succeeds, as on an H200
  EXPECT_EQ(query(a_), CUDA_ERROR_NOT_READY);
  expect_fault(kFillFault);
  EXPECT_EQ(*words_[1], 0u) << "what was queued behind it is never done";
  CUcontext const other = new_context();
  EXPECT_OK(synchronise_context()) << "another context goes on";
  EXPECT_OK(driver()(calls::CtxDestroy{other}));
  ASSERT_OK(driver()(calls::CtxSetCurrent{context_}));
}

TEST_F(LateMemory, SynchronisedBeforeItIsUnmappedItIsNone) {
  const Mapped m = mapped();
  ASSERT_OK(fill(m.address, 1, a_));
  ASSERT_OK(synchronise(a_));
  end(m);
  EXPECT_OK(synchronise_context());
}

TEST_F(LateMemory, AccessThatIsTakenAwayIsAFault) {
  const Mapped m = mapped();
  ASSERT_OK(fill(m.address, 1, a_));
  ASSERT_OK(set_access(m.address, m.size, access(0, CU_MEM_ACCESS_FLAGS_PROT_READ)));
  expect_fault(kFillFault);
}

TEST_F(LateMemory, AWordThatIsUnmappedIsAFault) {
  const Mapped m = mapped();
  ASSERT_OK(driver()(calls::MemsetD8{m.address, 0, 4}));
  ASSERT_OK(driver()(calls::StreamWaitValue32{.stream = a_, .addr = m.address, .value = 1}));
  end(m);
  expect_fault(CUDA_ERROR_ILLEGAL_ADDRESS);
}

void keep(CUstream, CUresult status, void* out) { *static_cast<CUresult*>(out) = status; }

TEST_F(LateMemory, CallbacksAreToldOfAFault) {
  const Mapped m = mapped();
  CUresult status = CUDA_ERROR_UNKNOWN;
  ASSERT_OK(fill(m.address, 1, a_));
  ASSERT_OK(driver()(calls::StreamAddCallback{a_, keep, &status, 0}));
  end(m);
  EXPECT_EQ(status, CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(synchronise(a_), kFillFault);
  EXPECT_EQ(status, kFillFault);
}

TEST_F(LateMemory, FreeingMemoryWaits) {
  const CUdeviceptr memory = device();
  ASSERT_OK(fill(memory, 1, apart_));
  ASSERT_OK(write(words_[0], 1, apart_));
  ASSERT_OK(driver()(calls::MemFree{memory}));
  EXPECT_EQ(*words_[0], 1u);
  volatile unsigned* const locked = pinned();
  ASSERT_OK(write(locked, 1, apart_));
  EXPECT_OK(driver()(calls::MemFreeHost{const_cast<unsigned*>(locked)}));
  EXPECT_OK(synchronise(apart_));
}

TEST_F(LateMemory, FreeingMemoryOfAPoolDoesNotWait) {
  CUdeviceptr memory = 0;
  ASSERT_OK(driver()(calls::MemAllocAsync{&memory, 64, a_}));
  ASSERT_OK(synchronise(a_));
  ASSERT_OK(fill(memory, 5, a_));
  ASSERT_OK(driver()(calls::MemFree{memory}));
  expect_fault(kFillFault);
}

TEST_F(LateMemory, ABlockingCopyWaitsForItsStream) {
  const CUdeviceptr memory = device();
  ASSERT_OK(fill(memory, 5, a_));
  ASSERT_OK(write(words_[0], 1, apart_));
  unsigned read = 0;
  ASSERT_OK(driver()(calls::MemcpyDtoH{&read, memory, sizeof read}));
  EXPECT_EQ(read, 5u);
  EXPECT_EQ(query(apart_), CUDA_ERROR_NOT_READY);
  ASSERT_OK(driver()(calls::MemsetD32{memory, 6, 1}));
  EXPECT_OK(query(nullptr)) << "what names no stream is done when it returns";
}

TEST_F(LateMemory, PageableMemoryIsReadAtTheCallAndWrittenBeforeItReturns) {
  const CUdeviceptr memory = device();
  unsigned source = 3, target = 0;
  ASSERT_OK(driver()(calls::MemcpyHtoDAsync{memory, &source, sizeof source, a_}));
  source = 4;
  EXPECT_EQ(query(a_), CUDA_ERROR_NOT_READY);
  ASSERT_OK(driver()(calls::MemcpyDtoHAsync{&target, memory, sizeof target, a_}));
  EXPECT_EQ(target, 3u);
  EXPECT_OK(query(a_));
}

TEST_F(LateMemory, RowsOfPageableMemoryAreReadAtTheCall) {
  const CUdeviceptr memory = device();
  unsigned source[6] = {1, 2, 3, 4, 5, 6};
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = CU_MEMORYTYPE_HOST;
  rows.srcHost = source;
  rows.srcPitch = 3 * sizeof(unsigned);
  rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.dstDevice = memory;
  rows.dstPitch = 2 * sizeof(unsigned);
  rows.WidthInBytes = 2 * sizeof(unsigned);
  rows.Height = 2;
  ASSERT_OK(driver()(calls::Memcpy2DAsync{&rows, a_}));
  rows = {};
  for (unsigned& each : source) each = 0;
  unsigned read[4] = {};
  ASSERT_OK(driver()(calls::MemcpyDtoHAsync{read, memory, sizeof read, a_}));
  const unsigned expected[4] = {1, 2, 4, 5};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(read[i], expected[i]) << i;
}

TEST_F(LateMemory, PageLockedMemoryIsReadWhenTheStreamComesToIt) {
  *words_[0] = 3;
  ASSERT_OK(copy(words_[1], words_[0], a_));
  *words_[0] = 4;
  EXPECT_OK(synchronise(a_));
  EXPECT_EQ(*words_[1], 4u);
}

TEST_F(LateMemory, ACopyFromHostToHostWaitsOnItsStreamToo) {
  ASSERT_OK(write(words_[0], 1, a_));
  ASSERT_OK(driver()(calls::MemcpyAsync{address(words_[1]), address(words_[0]), 4, a_}));
  EXPECT_EQ(*words_[1], 1u);
  EXPECT_OK(query(a_));
}

TEST_F(LateMemory, SynchronousMemoryIsWaitedFor) {
  const CUdeviceptr memory = device();
  const int on = 1;
  ASSERT_OK(driver()(calls::PointerSetAttribute{&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory}));
  ASSERT_OK(fill(memory, 5, a_));
  EXPECT_OK(query(a_));
}

TEST_F(LateMemory, MemoryOfAPoolIsFreedInTheOrderOfItsStream) {
  CUdeviceptr memory = 0;
  ASSERT_OK(driver()(calls::MemAllocAsync{&memory, 64, a_}));
  ASSERT_OK(fill(memory, 5, a_));
  ASSERT_OK(driver()(calls::MemcpyAsync{address(words_[0]), memory, 4, a_}));
  ASSERT_OK(driver()(calls::MemFreeAsync{memory, a_}));
  EXPECT_EQ(driver()(calls::MemFreeAsync{memory, a_}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(synchronise(a_));
  EXPECT_EQ(*words_[0], 5u);
}

TEST_F(LateMemory, MemoryOfAPoolThatWasFreedInStreamOrderIsAFault) {
  CUdeviceptr memory = 0;
  ASSERT_OK(driver()(calls::MemAllocAsync{&memory, 64, a_}));
  ASSERT_OK(driver()(calls::MemFreeAsync{memory, a_}));
  ASSERT_OK(fill(memory, 5, a_));
  expect_fault(kFillFault);
}

TEST_F(LateMemory, MemoryOfAPoolThatIsNotThereYetInStreamOrderIsAFault) {
  CUdeviceptr memory = 0;
  ASSERT_OK(driver()(calls::MemAllocAsync{&memory, 64, b_}));
  ASSERT_OK(fill(memory, 5, a_));
  expect_fault(kFillFault);
}

TEST_F(LateMemory, FreesThatAreQueuedMakeRoom) {
  std::size_t room = 0, total = 0;
  ASSERT_OK(driver()(calls::MemGetInfo{&room, &total}));
  for (int i = 0; i < 4; ++i) {
    CUdeviceptr memory = 0;
    ASSERT_OK(driver()(calls::MemAllocAsync{&memory, room / 2, a_})) << i;
    ASSERT_OK(driver()(calls::MemFreeAsync{memory, a_}));
  }
}

}  // namespace
}  // namespace cuvmm::emulator::testing
