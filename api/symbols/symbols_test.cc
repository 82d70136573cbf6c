// SPDX-License-Identifier: Apache-2.0
#include "api/symbols/symbols.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "api/multicast.h"

namespace cuvmm {
namespace {

// Every symbol that a libcuda exports, up to the newest CUDA.
std::set<std::string> driver_symbols() {
  std::ifstream file(CUVMM_DRIVER_SYMBOLS);
  std::set<std::string> out;
  for (std::string line; std::getline(file, line);) out.insert(line.substr(0, line.find(' ')));
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

// For functions of entry_points.def, the mark alone decides.
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

// One line of driver_symbols.txt: a symbol that a driver of some CUDA up to 13.5 hands out.
struct Triple {
  std::string symbol, query;
  int version = 0;
  unsigned flags = 0;
  int parameters = 0;
};

std::vector<Triple> triples() {
  std::ifstream file(CUVMM_DRIVER_SYMBOLS);
  std::vector<Triple> out;
  for (std::string line; std::getline(file, line);) {
    Triple t;
    std::istringstream words(line);
    if (!(words >> t.symbol >> t.version >> t.flags >> t.parameters)) continue;
    t.query = t.symbol.substr(0, t.symbol.find('_'));
    out.push_back(t);
  }
  return out;
}

int parameters_of(EntryPoint entry) {
  int count = 0;
  switch (entry) {
#define CUVMM_ENTRY(Name, area, ...)                                \
  case EntryPoint::k##Name:                                         \
    calls::Name{}.visit([&](auto, auto, const auto&) { ++count; }); \
    break;
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name, base)
#include "api/entry_points.def"
    default:
      break;
  }
  return count;
}

bool asked_for(std::string_view query) {
  for (const SymbolInfo& info : symbols()) {
    if (query == info.query) return true;
  }
  return false;
}

TEST(Triples, OfOurFunctionsAreAllInTheTable) {
  int listed = 0;
  for (const Triple& triple : triples()) {
    if (!asked_for(triple.query)) continue;
    ++listed;
    const SymbolInfo* found = nullptr;
    for (const SymbolInfo& info : symbols()) {
      if (triple.query == info.query && triple.version == info.version &&
          triple.flags == info.flags) {
        found = &info;
      }
    }
    ASSERT_TRUE(found) << triple.symbol << ' ' << triple.version;
    EXPECT_EQ(triple.symbol, found->name);
    if (found->entry == EntryPoint::kCount) continue;
    EXPECT_EQ(triple.parameters, parameters_of(found->entry)) << triple.symbol;
  }
  EXPECT_EQ(listed, static_cast<int>(symbols().size()));
}

// The second ABI of the binds has no #define; cuGetProcAddress knows it under the name of the
// first.
TEST(Triples, AnEntryPointIsAskedForByTheNameThatDriversKnow) {
  EXPECT_EQ(resolve("cuMulticastBindMem", 13000, 0), Symbol::k_cuMulticastBindMem);
  EXPECT_EQ(resolve("cuMulticastBindMem", 13010, 0), Symbol::k_cuMulticastBindMem_v2);
  EXPECT_EQ(resolve("cuMulticastBindAddr", 13009, 0), Symbol::k_cuMulticastBindAddr);
  EXPECT_EQ(resolve("cuMulticastBindAddr", 13050, 0), Symbol::k_cuMulticastBindAddr_v2);
  EXPECT_EQ(resolve("cuMulticastBindMem_v2", 13010, 0), std::nullopt);
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
