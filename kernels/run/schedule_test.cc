// SPDX-License-Identifier: Apache-2.0
// Threads that diverge and converge.
#include <gtest/gtest.h>

#include "kernels/testing.h"

namespace cuvmm::kernels {
namespace {

using testing::Ran;
using testing::run_body;

// Stores %r1 of each thread.
const char* const kStore =
    " mov.u32 %r30, %tid.x; mul.wide.u32 %rd10, %r30, 4; add.u64 %rd10, %rd10, %rd0;"
    " st.global.u32 [%rd10], %r1;";

TEST(PtxSchedule, LanesThatPartedShuffleTogether) {
  const Ran ran = run_body(std::string(R"(
    mov.u32 %r2, %tid.x;
    and.b32 %r3, %r2, 1;
    setp.eq.u32 %p1, %r3, 0;
    @%p1 bra even;
    mul.lo.u32 %r2, %r2, 100;
  even:
    shfl.sync.bfly.b32 %r1|%p2, %r2, 1, 31, -1;
  )") + kStore,
                           {.block = {32, 1, 1}});
  ASSERT_EQ(ran.error, "");
  ASSERT_EQ(ran.fault.what, "");
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned other = lane ^ 1;
    EXPECT_EQ(ran.at<unsigned>(lane), other % 2 ? other * 100 : other) << lane;
  }
}

TEST(PtxSchedule, VotesMatchesAndReductions) {
  const Ran ran = run_body(R"(
    mov.u32 %r2, %tid.x;
    setp.lt.u32 %p1, %r2, 5;
    vote.sync.ballot.b32 %r3, %p1, -1;
    redux.sync.add.u32 %r4, %r2, -1;
    shr.u32 %r5, %r2, 4;
    match.any.sync.b32 %r6, %r5, -1;
    vote.sync.any.pred %p2, %p1, -1;
    selp.u32 %r7, 1, 0, %p2;
    setp.eq.u32 %p3, %r2, 20;
    @%p3 st.global.v4.u32 [%rd0], {%r3, %r4, %r6, %r7};
  )",
                           {.block = {32, 1, 1}});
  ASSERT_EQ(ran.error, "");
  EXPECT_EQ(ran.at<unsigned>(0), 31u);
  EXPECT_EQ(ran.at<unsigned>(1), 31u * 32 / 2);
  EXPECT_EQ(ran.at<unsigned>(2), 0xffff0000u);
  EXPECT_EQ(ran.at<unsigned>(3), 1u);
}

TEST(PtxSchedule, EndedThreadsAreNotWaitedFor) {
  const Ran ran = run_body(std::string(R"(
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p1, %r2, 70;
    @%p1 ret;
    bar.sync 0;
    setp.ge.u32 %p2, %r2, 64;
    mov.u32 %r1, 9;
    bar.red.popc.u32 %r1, 0, %p2;
    shfl.sync.idx.b32 %r3, %r1, 0, 31, -1;
  )") + kStore,
                           {.block = {100, 1, 1}});
  ASSERT_EQ(ran.error, "");
  ASSERT_EQ(ran.fault.what, "");
  EXPECT_EQ(ran.at<unsigned>(0), 6u);
  EXPECT_EQ(ran.at<unsigned>(69), 6u);
  EXPECT_EQ(ran.at<unsigned>(70), 0u);
}

TEST(PtxSchedule, WarpsHandOverAtBarriersOfSome) {
  // The second warp produces a value, the first consumes it.
  const Ran ran = run_body(R"(
    .shared .u32 box;
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p1, %r2, 32;
    @%p1 bra produce;
    bar.sync 1, 64;
    ld.shared.u32 %r1, [box];
    st.global.u32 [%rd0], %r1;
    ret;
  produce:
    st.shared.u32 [box], 42;
    bar.arrive 1, 64;
  )",
                           {.block = {64, 1, 1}});
  ASSERT_EQ(ran.error, "");
  ASSERT_EQ(ran.fault.what, "");
  EXPECT_EQ(ran.at<unsigned>(0), 42u);
}

TEST(PtxSchedule, WhatNeverEndsIsATimeout) {
  const Ran endless = run_body("again: bra again;", {}, 10000);
  EXPECT_EQ(endless.fault.code, CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_NE(endless.fault.what.find("did not end"), std::string::npos);
  const Ran stuck = run_body(
      "mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0; @%p1 bra one; bar.sync 1, 64; ret; one: "
      "bar.sync 2, 64;",
      {.block = {32, 1, 1}});
  EXPECT_EQ(stuck.fault.code, CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_NE(stuck.fault.what.find("wait for each other"), std::string::npos);
}

TEST(PtxSchedule, AFaultNamesItsThread) {
  const Ran ran =
      run_body("mov.u32 %r2, %tid.y; setp.eq.u32 %p1, %r2, 3; @%p1 st.global.u32 [12345672], %r2;",
               {.grid = {1, 2, 1}, .block = {4, 5, 1}});
  EXPECT_EQ(ran.fault.code, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(ran.fault.thread[0], 0u);
  EXPECT_EQ(ran.fault.thread[1], 3u);
  EXPECT_EQ(ran.fault.line, 14);
  EXPECT_EQ(ran.fault.what, "illegal write of 4 bytes at 0xbc6148: nothing is there");
}

// The blocks of a cooperative launch meet in its workspace, as CUDA's cooperative groups do.
const char* const kMeet = R"(
    mov.u32 %r2, %envreg2;
    mov.u32 %r3, %envreg1;
    mov.b64 %rd2, {%r2, %r3};
    setp.eq.u64 %p1, %rd2, 0;
    @%p1 bra none;
    atom.add.release.gpu.u32 %r4, [%rd2+4], 1;
  again:
    ld.acquire.gpu.u32 %r5, [%rd2+4];
    setp.lt.u32 %p2, %r5, 3;
    @%p2 bra again;
    mov.u32 %r6, %ctaid.x;
    mul.wide.u32 %rd3, %r6, 4;
    add.u64 %rd3, %rd3, %rd0;
    st.global.u32 [%rd3], 7;
  none:
  )";

TEST(PtxSchedule, BlocksOfACooperativeLaunchMeet) {
  const Ran ran = run_body(kMeet, {.grid = {3, 1, 1}, .together = true});
  ASSERT_EQ(ran.error, "");
  ASSERT_EQ(ran.fault.what, "");
  for (unsigned block = 0; block < 3; ++block) EXPECT_EQ(ran.at<unsigned>(block), 7u);

  const Ran other = run_body(kMeet, {.grid = {3, 1, 1}});
  ASSERT_EQ(other.error, "");
  EXPECT_EQ(other.at<unsigned>(0), 0u) << "another launch has no workspace";
}

// Each thread allocates 64 bytes, stores its number there, and reads it back.
const char* const kHeap = R"(
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b64 out) malloc(.param .b64 size);
.extern .func free(.param .b64 pointer);
.visible .entry k(.param .u64 to) {
  .reg .b32 %r<6>; .reg .b64 %rd<6>; .param .b64 size; .param .b64 made;
  ld.param.u64 %rd0, [to]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rd1, %rd0;
  mov.u64 %rd2, 64; st.param.b64 [size], %rd2;
  call.uni (made), malloc, (size);
  ld.param.b64 %rd3, [made]; st.u32 [%rd3+60], %r0; ld.u32 %r1, [%rd3+60]; add.u32 %r1, %r1, 1;
  st.global.u32 [%rd1], %r1;
  st.param.b64 [size], %rd3;
  call.uni free, (size);
  LAST
  ret;
})";

TEST(PtxSchedule, KernelsAllocateMemory) {
  std::string text = kHeap;
  const std::size_t last = text.find("LAST");
  text.replace(last, 4, "");
  const Ran ran = testing::run_module(text, {.block = {32, 1, 1}});
  ASSERT_EQ(ran.error, "");
  ASSERT_EQ(ran.fault.what, "");
  for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(ran.at<unsigned>(lane), lane + 1);

  text.insert(last, "call.uni free, (size);");
  EXPECT_EQ(testing::run_module(text).fault.code, CUDA_ERROR_LAUNCH_FAILED) << "freed twice";
  text.replace(last, 22, "ld.u32 %r2, [%rd3];");
  EXPECT_EQ(testing::run_module(text).fault.code, CUDA_ERROR_ILLEGAL_ADDRESS) << "it is free";
}

}  // namespace
}  // namespace cuvmm::kernels
