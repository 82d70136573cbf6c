// SPDX-License-Identifier: Apache-2.0
#include "api/symbols.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "api/multicast.h"

namespace cuvmm {
namespace {

// Every symbol that a libcuda is known to export, up to the newest CUDA.
std::set<std::string> driver_symbols() {
  std::ifstream file(CUVMM_DRIVER_SYMBOLS);
  std::set<std::string> out;
  for (std::string line; std::getline(file, line);) out.insert(line);
  return out;
}

TEST(Multicast, EveryMarkNamesAFunctionOfTheDriver) {
  const std::set<std::string> known = driver_symbols();
  ASSERT_GT(known.size(), 700u);
  int marks = 0;
  for (const std::string_view mark : detail::kMulticastMarks) {
    if (mark.empty()) continue;
    EXPECT_TRUE(known.contains(std::string(mark))) << mark;
    ++marks;
  }
  EXPECT_GE(marks, 8);
}

// The mark, and nothing else, tells the functions that are known.
TEST(Multicast, TheGateIsWiderThanTheNamesItWasMadeFor) {
  for (const std::string& symbol : driver_symbols()) {
    const bool wanted = symbol.starts_with("cuMulticast") ||
                        symbol.starts_with("cuLogicalEndpoint") ||
                        symbol.starts_with("cuFabricCpy");
    EXPECT_EQ(can_multicast(symbol), wanted) << symbol;
  }
}

TEST(Multicast, WhatNobodyKnowsIsJudgedByItsName) {
  for (const char* name :
       {"cuMulticast", "cuMulticastOfTomorrow", "cuMulticastBindMem_v3",
        "cuMulticastBindMem_v9_ptsz", "cuLogicalEndpointOfTomorrow", "cuFabricCpyOfTomorrow_ptsz",
        "cuMemMulticastCopy", "cuDeviceMulticastReset"}) {
    EXPECT_TRUE(can_multicast(name)) << name;
  }
  for (const char* name : {"", "cu", "cuMemMap", "cuMemMap_v2", "cuFabricGetState",
                           "cuLaunchKernel", "_v2", "_ptsz", "cumulticast"}) {
    EXPECT_FALSE(can_multicast(name)) << name;
  }
}

TEST(Multicast, CallTypeAndNameAgree) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(EntryPoint::kCount); ++i) {
    const auto entry = static_cast<EntryPoint>(i);
    EXPECT_EQ(can_multicast(entry), can_multicast(name(entry))) << name(entry);
  }
  EXPECT_FALSE(can_multicast(EntryPoint::kCount));
  for (const SymbolInfo& info : symbols()) {
    EXPECT_EQ(can_multicast(info.name), can_multicast(info.query)) << info.name;
    if (info.entry == EntryPoint::kCount) continue;
    EXPECT_EQ(can_multicast(info.name), can_multicast(info.entry)) << info.name;
  }
}

TEST(Symbols, WithoutTheirAbiSymbolAndQueryAreOne) {
  for (const SymbolInfo& info : symbols()) {
    EXPECT_EQ(without_abi(info.name), without_abi(info.query)) << info.name;
  }
  EXPECT_EQ(without_abi("cuMemcpyHtoD_v2_ptds"), "cuMemcpyHtoD");
  EXPECT_EQ(without_abi("cuMemcpy3D"), "cuMemcpy3D");
  EXPECT_EQ(without_abi("cuMemsetD8_v2"), "cuMemsetD8");
  EXPECT_EQ(without_abi("cuStreamWaitValue32_ptsz"), "cuStreamWaitValue32");
}

}  // namespace
}  // namespace cuvmm
