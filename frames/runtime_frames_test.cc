// SPDX-License-Identifier: Apache-2.0
#include "frames/runtime_frames.h"

#include <gtest/gtest.h>

#include "frames/testing_frames.h"

namespace cuvmm::frames {
namespace {

constexpr const char* kRuntime = "/usr/local/cuda/lib64/libcudart.so.13";

TEST(RuntimeFrames, TheOutermostIsWhatTheProgramCalled) {
  std::vector<Frame> frames = {frame("", kRuntime),          frame("cudaInside", kRuntime),
                               frame("cudaFree", kRuntime),  frame("work()", "/app/program"),
                               frame("cudaLater", kRuntime), frame("main", "/app/program")};
  EXPECT_EQ(take_runtime_frames(frames), "cudaFree");
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[0].function, "work()");
}

TEST(RuntimeFrames, OfAStaticRuntimeAndOfItsHeaders) {
  std::vector<Frame> frames = {
      frame("libcudart_static_0a1b", "/app/program"),
      frame("libcudart_static_2c3d", "/app/program"), frame("cudaMalloc", "/app/program"),
      frame("weights()", "/app/program"), frame("cudaLater", "/app/program")};
  EXPECT_EQ(take_runtime_frames(frames), "cudaMalloc");
  EXPECT_EQ(frames.front().function, "weights()");

  Frame header = frame("cudaError cudaMalloc<float>(float**, unsigned long)", "/app/program");
  header.file = "/usr/local/cuda/include/cuda_runtime.h";
  frames = {frame("ask", kRuntime), frame("cudaMalloc", kRuntime), header,
            frame("weights()", "/app/program")};
  EXPECT_EQ(take_runtime_frames(frames), "cudaMalloc");
  EXPECT_EQ(frames.front().function, "weights()");
}

TEST(RuntimeFrames, NvccsFunctionsForAKernel) {
  const auto launch = [](const char* kernel) {
    return std::vector<Frame>{frame("cuvmm::run()", kRuntime),
                              frame("__cudaLaunchKernel", kRuntime),
                              frame("__cudaLaunchKernel_helper(CUkern_st*, dim3)", "/app/program"),
                              frame("__device_stub__Z4fillPi(int*)", "/app/program"),
                              frame(kernel, "/app/program"),
                              frame("main", "/app/program")};
  };
  std::vector<Frame> frames = launch("fill(int*)");
  EXPECT_EQ(take_runtime_frames(frames), "fill<<<>>>");
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, "main");

  frames = launch("void fill<int, 3u>(int*)");
  EXPECT_EQ(take_runtime_frames(frames), "fill<int, 3u><<<>>>");

  // The stack ends before the function that launched the kernel.
  frames = launch("fill(int*)");
  frames.pop_back();
  EXPECT_EQ(take_runtime_frames(frames), "");
  EXPECT_EQ(frames.size(), 5u);
}

TEST(RuntimeFrames, OthersStay) {
  const std::vector<std::vector<Frame>> stacks = {
      {},
      {frame("work()", "/app/program"), frame("cudaFree", kRuntime)},
      {frame("cudaFree", "/app/static-runtime"), frame("main", "/app/static-runtime")},
      {frame("", kRuntime), frame("main", "/app/program")},
      {frame("cudaFree", kRuntime)},  // the stack is cut off before the caller
  };
  for (std::vector<Frame> frames : stacks) {
    const std::size_t before = frames.size();
    EXPECT_EQ(take_runtime_frames(frames), "");
    EXPECT_EQ(frames.size(), before);
  }
}

}  // namespace
}  // namespace cuvmm::frames
