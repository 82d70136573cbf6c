// SPDX-License-Identifier: Apache-2.0
// Tests of streams that do their work as late as they can, without a seed.
#pragma once

#include <cstdlib>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {

/// Each test has a new context, so that a fault stays in the test.
class LateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(setenv("CUVMM_STREAMS", "late", 1), 0);
    ASSERT_EQ(library().error, "");
    ASSERT_OK(driver()(calls::Init{0}));
    context_ = new_context();
    for (auto& word : words_) word = pinned();
    a_ = stream();
    b_ = stream();
    apart_ = stream(CU_STREAM_NON_BLOCKING);
    between_ = device();
  }
  void TearDown() override { EXPECT_OK(driver()(calls::CtxDestroy{context_})); }

  static CUcontext new_context() {
    CUcontext context = nullptr;
    EXPECT_OK(symbol<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2")(&context, 0, 0));
    return context;
  }
  static CUstream stream(unsigned flags = 0) {
    CUstream made = nullptr;
    EXPECT_OK(driver()(calls::StreamCreate{&made, flags}));
    return made;
  }
  static CUevent event(unsigned flags = 0) {
    CUevent made = nullptr;
    EXPECT_OK(driver()(calls::EventCreate{&made, flags}));
    return made;
  }
  /// A word of page-locked memory: the host sees a stream's write as soon as it is done.
  static volatile unsigned* pinned() {
    void* at = nullptr;
    EXPECT_OK(driver()(calls::MemHostAlloc{&at, sizeof(unsigned), 0}));
    auto* word = static_cast<volatile unsigned*>(at);
    *word = 0;
    return word;
  }
  static CUdeviceptr device(std::size_t size = 64) {
    CUdeviceptr at = 0;
    EXPECT_OK(driver()(calls::MemAlloc{&at, size}));
    return at;
  }
  static CUdeviceptr address(volatile unsigned* word) {
    return reinterpret_cast<CUdeviceptr>(word);
  }

  static CUresult fill(CUdeviceptr at, unsigned value, CUstream stream, std::size_t words = 1) {
    return driver()(calls::MemsetD32Async{at, value, words, stream});
  }
  static CUresult write(volatile unsigned* word, unsigned value, CUstream stream) {
    return fill(address(word), value, stream);
  }
  /// Copies through a word of the device, another word for each copy: a copy from host to host
  /// would wait.
  CUresult copy(volatile unsigned* to, volatile unsigned* from, CUstream stream) {
    const CUdeviceptr between = between_;
    between_ += sizeof(unsigned);
    const CUresult first =
        driver()(calls::MemcpyAsync{between, address(from), sizeof(unsigned), stream});
    if (first != CUDA_SUCCESS) return first;
    return driver()(calls::MemcpyAsync{address(to), between, sizeof(unsigned), stream});
  }
  /// Makes the stream wait until the word is 1.
  static CUresult hold(CUstream stream, volatile unsigned* until) {
    return driver()(calls::StreamWaitValue32{.stream = stream, .addr = address(until), .value = 1});
  }
  static CUresult query(CUstream stream) { return driver()(calls::StreamQuery{stream}); }
  static CUresult synchronise(CUstream stream) {
    return driver()(calls::StreamSynchronize{stream});
  }
  static CUresult synchronise_context() { return driver()(calls::CtxSynchronize{}); }
  static CUresult record(CUevent event, CUstream stream) {
    return driver()(calls::EventRecord{event, stream});
  }
  static CUresult wait(CUstream stream, CUevent event) {
    return driver()(calls::StreamWaitEvent{stream, event, 0});
  }

  CUcontext context_ = nullptr;
  volatile unsigned* words_[4] = {};
  CUstream a_ = nullptr, b_ = nullptr;  ///< blocking streams
  CUstream apart_ = nullptr;            ///< waits for no default stream
  CUdeviceptr between_ = 0;             ///< the words of the device through which copy() copies
};

}  // namespace cuvmm::emulator::testing
