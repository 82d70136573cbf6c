// SPDX-License-Identifier: Apache-2.0
#include "fuzz/ops/layout.h"

#include <gtest/gtest.h>

#include "fuzz/ops/text.h"

namespace cuvmm::fuzz {
namespace {

// Whether the last call of a program depends on the layout when all calls before it succeed.
bool last_leaves(const std::string& text) {
  const TextOps read = from_text("cuvmm-program 1\ninit()\n" + text);
  EXPECT_EQ(read.error, "");
  Layout layout;
  for (std::size_t i = 0; i + 1 < read.ops.size(); ++i) {
    EXPECT_EQ(layout.leaves(read.ops[i]), nullptr) << "op " << i;
    layout.succeeded(read.ops[i]);
  }
  return layout.leaves(read.ops.back()) != nullptr;
}

TEST(Layout, ACallInsideItsReservationFollowsFromTheProgram) {
  EXPECT_FALSE(last_leaves("r1 = cuMemAddressReserve(4M)\ncuMemUnmap(r1+2M, 2M)\n"));
  EXPECT_TRUE(last_leaves("r1 = cuMemAddressReserve(4M)\ncuMemUnmap(r1+2M, 4M)\n"));
  EXPECT_TRUE(last_leaves("r1 = cuMemAddressReserve(4M)\ncuMemGetAccess(device0, r1+4M)\n"));
  EXPECT_FALSE(last_leaves("r1 = cuMemAddressReserve(4M)\ncuMemUnmap(4M, 4M)\n"))
      << "no name: the address is the same everywhere";
  EXPECT_TRUE(last_leaves("cuMemGetAccess(device0, 8G)\n")) << "a driver reserves for itself there";
}

TEST(Layout, OpenedMemoryIsThereUntilItIsClosedAsOftenAsItWasOpened) {
  const std::string shared =
      "r1 = cuMemAlloc(4M)\ns1 = cuIpcGetMemHandle(r1)\n@p1 r2 = cuIpcOpenMemHandle(s1, 1)\n";
  EXPECT_FALSE(last_leaves(shared + "@p1 cuMemsetD8(r2+2M, 1, 9)\n"));
  EXPECT_TRUE(last_leaves(shared + "@p1 cuMemsetD8(r2+4M, 1, 9)\n"));
  EXPECT_TRUE(last_leaves(shared + "cuMemsetD8(r2, 1, 9)\n")) << "an address of the other process";
  EXPECT_TRUE(last_leaves(shared + "@p1 cuIpcCloseMemHandle(r2)\n@p1 cuIpcCloseMemHandle(r2)\n"));
  const std::string again = shared + "@p1 r3 = cuIpcOpenMemHandle(s1, 1)\n";
  EXPECT_FALSE(last_leaves(again + "@p1 cuIpcCloseMemHandle(r3)\n@p1 cuMemsetD8(r2, 1, 9)\n"));
  EXPECT_TRUE(last_leaves(again + "@p1 cuIpcCloseMemHandle(r3)\n@p1 cuIpcCloseMemHandle(r2)\n"
                                  "@p1 cuMemsetD8(r3, 1, 9)\n"));
  // Each context has its own pointer.
  EXPECT_TRUE(last_leaves(shared + "@p1 context(1)\n@p1 r3 = cuIpcOpenMemHandle(s1, 1)\n"
                                   "@p1 cuIpcCloseMemHandle(r3)\n@p1 cuMemsetD8(r3, 1, 9)\n"));
}

TEST(Layout, WhatIsFreedIsNobodysOrSomebodyElses) {
  EXPECT_TRUE(last_leaves(
      "r1 = cuMemAddressReserve(4M)\ncuMemAddressFree(r1, 4M)\ncuMemAddressFree(r1, 4M)\n"));
  EXPECT_FALSE(last_leaves("r1 = cuMemAddressReserve(4M)\ncuMemAddressFree(r1, 16M)\n"))
      << "a live reservation has one size";
}

TEST(Layout, AHandleIsItselfWhileSomethingHoldsIt) {
  const std::string made = "h1 = cuMemCreate(2M, device=0)\nr1 = cuMemAddressReserve(4M)\n";
  EXPECT_TRUE(last_leaves(made + "cuMemRelease(h1)\ncuMemMap(r1, 2M, h1)\n"));
  EXPECT_FALSE(last_leaves(made + "cuMemMap(r1, 2M, h1)\ncuMemRelease(h1)\ncuMemRelease(h1)\n"));
  EXPECT_TRUE(last_leaves(
      made + "cuMemMap(r1, 2M, h1)\ncuMemRelease(h1)\ncuMemUnmap(r1, 4M)\ncuMemRelease(h1)\n"));
  EXPECT_FALSE(last_leaves(made + "cuMemMap(r1, 2M, h1)\nh2 = cuMemRetainAllocationHandle(r1)\n"
                                  "cuMemRelease(h1)\ncuMemUnmap(r1, 2M)\ncuMemRelease(h2)\n"));
}

TEST(Layout, AnotherProcessesRangesAndHandlesMeanNothingHere) {
  const std::string made =
      "r1 = cuMemAddressReserve(4M)\nh1 = cuMemCreate(2M, device=0, handle_types=posix_fd)\n"
      "d1 = cuMemExportToShareableHandle(h1, posix_fd)\n";
  EXPECT_TRUE(last_leaves(made + "@p1 cuMemUnmap(r1, 2M)\n"));
  EXPECT_TRUE(last_leaves(made + "@p1 cuMemRelease(h1)\n"));
  EXPECT_TRUE(last_leaves(made + "@p1 r2 = cuMemAddressReserve(2M)\n@p1 cuMemMap(r2, 2M, h1)\n"));
  EXPECT_FALSE(last_leaves(made + "@p1 h2 = cuMemImportFromShareableHandle(d1, posix_fd)\n"
                                  "@p1 r2 = cuMemAddressReserve(2M)\n@p1 cuMemMap(r2, 2M, h2)\n"))
      << "a descriptor is everybody's";
}

TEST(Layout, ADescriptorThatWasOfferedIsTheDrivers) {
  const std::string made =
      "h1 = cuMemCreate(2M, device=0, handle_types=posix_fd)\n"
      "d1 = cuMemExportToShareableHandle(h1, posix_fd)\n";
  const std::string offer = "x1 = cuImportExternalMemory({type=opaque_fd, fd=d1, size=2M})\n";
  const std::string use = "h2 = cuMemImportFromShareableHandle(d1, posix_fd)\n";
  EXPECT_FALSE(last_leaves(made + use));
  EXPECT_TRUE(last_leaves(made + offer + use));
  const Ops ops = from_text("cuvmm-program 1\ninit()\n" + made + offer + use).ops;
  Layout layout;
  layout.succeeded(ops[0]);
  layout.succeeded(ops[1]);
  layout.failed(ops[2]);
  EXPECT_NE(layout.leaves(ops[3]), nullptr) << "some refusals close it";
}

TEST(Layout, AHintDependsOnItsRangesPlaceWhereItIsFarFromItOrAligned) {
  const std::string made = "r1 = cuMemAddressReserve(4M)\n";
  EXPECT_TRUE(last_leaves(made + "r2 = cuMemAddressReserve(2M, alignment=16M, addr=r1+4M)\n"));
  EXPECT_TRUE(last_leaves(made + "r2 = cuMemAddressReserve(2M, addr=r1+1T)\n"))
      << "it may lie above the user's address space";
  EXPECT_FALSE(last_leaves(made + "r2 = cuMemAddressReserve(2M, addr=r1+4M)\n"));
}

// Whether the answer to the last call is a matter of chance.
bool last_unsettled(const std::string& text) {
  const TextOps read = from_text("cuvmm-program 1\ninit()\n" + text);
  EXPECT_EQ(read.error, "");
  Layout layout;
  for (std::size_t i = 0; i + 1 < read.ops.size(); ++i) layout.succeeded(read.ops[i]);
  return layout.unsettled(read.ops.back()) != nullptr;
}

TEST(Layout, RdmaMemoryIsUnsettledOnceItsOldestMappingIsGone) {
  const std::string made =
      "h1 = cuMemCreate(2M, device=0, rdma=1, handle_types=posix_fd)\nr1 = "
      "cuMemAddressReserve(8M)\n"
      "cuMemMap(r1+2M, 2M, h1)\nfd1 = cuMemExportToShareableHandle(h1, posix_fd)\n"
      "h2 = cuMemImportFromShareableHandle(fd1, posix_fd)\ncuMemMap(r1, 2M, h2)\n";
  const std::string access = "cuMemSetAccess(r1, 2M, [device0:rw])\n";
  EXPECT_FALSE(last_unsettled("cuMemCreate(64G, device=0)\n"));
  EXPECT_FALSE(last_unsettled("cuMemCreate(2M, device=0, usage=255)\n"));
  EXPECT_TRUE(last_unsettled("cuMemCreate(64G, device=0, usage=255)\n"));
  EXPECT_FALSE(last_unsettled(made + access));
  EXPECT_TRUE(last_unsettled(made + "cuMemUnmap(r1+2M, 2M)\n" + access));
  EXPECT_TRUE(last_unsettled(made + "cuMemUnmap(r1+2M, 2M)\ncuMemMap(r1+4M, 2M, h1)\n"));
  EXPECT_FALSE(
      last_unsettled(made + "cuMemUnmap(r1, 2M)\ncuMemSetAccess(r1+2M, 2M, [device0:rw])\n"))
      << "the oldest is there";
  EXPECT_FALSE(last_unsettled(made + "cuMemUnmap(r1, 8M)\ncuMemMap(r1+4M, 2M, h1)\n"))
      << "none is left: the next one is the oldest";
  std::string plain = made + "cuMemUnmap(r1+2M, 2M)\n" + access;
  plain.replace(plain.find(" rdma=1,"), 8, "");
  EXPECT_FALSE(last_unsettled(plain));
}

}  // namespace
}  // namespace cuvmm::fuzz
