// SPDX-License-Identifier: Apache-2.0
#include "shim/symbols/resolver.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "api/multicast.h"

namespace cuvmm::shim {
namespace {

/// A driver whose exports the test chooses, at made-up addresses; wrappers have other addresses.
class FakeHost : public ResolverHost {
 public:
  void* wrapper(Symbol symbol) override {
    const SymbolInfo& info = symbols()[static_cast<std::size_t>(symbol)];
    return intercepted(info.entry) ? &wrappers[static_cast<std::size_t>(symbol)] : nullptr;
  }
  void* driver_export(const char* name) override {
    const auto found = exports.find(name);
    return found == exports.end() ? nullptr : &found->second;
  }
  void* get_proc_address(int version) override { return version >= 12000 ? &five : &four; }
  void* refused_multicast() override { return allow_multicast ? nullptr : &refused; }
  void unchecked(std::string what) override { passed.push_back(std::move(what)); }

  std::map<std::string, char> exports;
  std::vector<char> wrappers = std::vector<char>(static_cast<std::size_t>(Symbol::kCount));
  std::vector<std::string> passed;
  char four, five, refused, internal;
  bool allow_multicast = false;
};

class ResolverTest : public testing::Test {
 protected:
  ResolverTest() {
    for (const SymbolInfo& info : symbols()) host_.exports[info.name] = 0;
  }
  void* ask(const char* query, int version, std::uint64_t flags, void* answer) {
    return substitute(host_, query, version, flags, answer);
  }
  void* driver_function(const char* name) { return host_.driver_export(name); }
  void* wrapper_of(const char* name) {
    for (const SymbolInfo& info : symbols()) {
      if (std::string_view(name) == info.name) return host_.wrapper(info.symbol);
    }
    return nullptr;
  }
  FakeHost host_;
};

TEST_F(ResolverTest, EveryTripleOfTheTableGivesItsWrapper) {
  host_.allow_multicast = true;
  for (const SymbolInfo& info : symbols()) {
    void* const answer = driver_function(info.name);
    void* const given = ask(info.query, info.version, info.flags, answer);
    if (intercepted(info.entry)) {
      EXPECT_EQ(given, host_.wrapper(info.symbol)) << info.name;
    } else {
      EXPECT_EQ(given, answer) << info.name;
    }
  }
}

TEST_F(ResolverTest, ADriverMayHandOutAnInternalAddress) {
  EXPECT_EQ(ask("cuMemMap", 10020, 0, &host_.internal), wrapper_of("cuMemMap"));
  EXPECT_EQ(ask("cuMemcpyAsync", 13000, 2, &host_.internal), wrapper_of("cuMemcpyAsync_ptsz"));
}

TEST_F(ResolverTest, AnOldAbiPassesAndIsCounted) {
  EXPECT_EQ(ask("cuMemcpyHtoD", 2000, 0, driver_function("cuMemcpyHtoD")),
            driver_function("cuMemcpyHtoD"));
  ASSERT_EQ(host_.passed.size(), 1u);
  EXPECT_NE(host_.passed[0].find("cuMemcpyHtoD"), std::string::npos);
}

TEST_F(ResolverTest, ANewerVersionIsOursOnlyAtTheExportedAddress) {
  EXPECT_EQ(ask("cuMemMap", 99000, 0, driver_function("cuMemMap")), wrapper_of("cuMemMap"));
  EXPECT_TRUE(host_.passed.empty());
  EXPECT_EQ(ask("cuMemMap", 99000, 0, &host_.internal), &host_.internal);
  EXPECT_EQ(host_.passed.size(), 1u);
}

// A 12.8 driver that is asked with 13.0 can return only the older ABI of the batch copy.
TEST_F(ResolverTest, AnOlderDriverGivesItsOlderAbi) {
  host_.exports.erase("cuMemcpyBatchAsync_v2");
  host_.exports.erase("cuMemcpyBatchAsync_v2_ptsz");
  EXPECT_EQ(ask("cuMemcpyBatchAsync", 13000, 0, driver_function("cuMemcpyBatchAsync")),
            wrapper_of("cuMemcpyBatchAsync"));
}

// One line of api/symbols/driver_symbols.txt: the symbol that a driver of that CUDA, or of a newer
// one, returns.
struct Triple {
  std::string symbol, query;
  int version = 0;
  unsigned flags = 0;
  int parameters = 0;
};
using Triples = std::map<std::string, std::vector<Triple>>;  // by query

Triples triples_of(int driver_version) {
  std::ifstream file(CUVMM_DRIVER_SYMBOLS);
  Triples out;
  for (std::string line; std::getline(file, line);) {
    Triple t;
    std::istringstream words(line);
    if (!(words >> t.symbol >> t.version >> t.flags >> t.parameters)) continue;
    t.query = t.symbol.substr(0, t.symbol.find('_'));
    if (t.version <= driver_version && t.query != "cuGetProcAddress") out[t.query].push_back(t);
  }
  return out;
}

// The newest ABI that is not newer than `version`, for the per-thread stream if the flags want it
// and it exists.
const Triple* handed_out(const std::vector<Triple>& abis, int version, unsigned flags) {
  const Triple* best = nullptr;
  for (const Triple& one : abis) {
    if (one.version > version || (one.flags & ~flags) != 0) continue;
    if (!best || one.flags > best->flags ||
        (one.flags == best->flags && one.version > best->version)) {
      best = &one;
    }
  }
  return best;
}

constexpr int kVersions[] = {12000, 12040, 12090, 13000, 13010, 13020, 13030, 13040, 13050};

// If a driver has more than one ABI of a name, each version and the one before it; else only the
// common versions.
std::set<int> versions_to_ask(const std::vector<Triple>& abis) {
  std::set<int> out(std::begin(kVersions), std::end(kVersions));
  for (const Triple& one : abis) out.insert({one.version, one.version - 1});
  return out;
}

class StandInDriver : public ResolverTest, public testing::WithParamInterface<int> {};

TEST_P(StandInDriver, EveryTripleLeadsToTheWrapperOfItsAbi) {
  host_.allow_multicast = true;
  const Triples driver = triples_of(GetParam());
  ASSERT_GT(driver.size(), 400u);
  host_.exports.clear();
  for (const auto& [query, abis] : driver) {
    for (const Triple& one : abis) host_.exports[one.symbol] = 0;
  }
  int wrapped = 0;
  for (const auto& [query, abis] : driver) {
    for (const int version : versions_to_ask(abis)) {
      for (const unsigned flags : {0u, 2u}) {
        const Triple* const answer = handed_out(abis, version, flags);
        if (!answer) continue;
        void* const driver_function = host_.driver_export(answer->symbol.c_str());
        void* const wrapper = wrapper_of(answer->symbol.c_str());
        const std::string what =
            query + " at " + std::to_string(version) + ", flags " + std::to_string(flags);
        ASSERT_EQ(ask(query.c_str(), version, flags, driver_function),
                  wrapper ? wrapper : driver_function)
            << what;
        // At an address that the driver does not export. If the version is newer than the driver,
        // the address may be passed on.
        void* const given = ask(query.c_str(), version, flags, &host_.internal);
        if (version > GetParam() && given == &host_.internal) continue;
        ASSERT_EQ(given, wrapper ? wrapper : static_cast<void*>(&host_.internal)) << what;
        wrapped += wrapper != nullptr;
      }
    }
    host_.passed.clear();
  }
  EXPECT_GT(wrapped, 500);
}
INSTANTIATE_TEST_SUITE_P(OfCuda, StandInDriver, testing::ValuesIn(kVersions));

TEST_F(ResolverTest, NamesThatAreNotOursPassUncounted) {
  for (const char* query : {"cuCtxGetApiVersion", "cudnnCreate", "curl_init", "cu", ""}) {
    EXPECT_EQ(ask(query, 13000, 0, &host_.internal), &host_.internal) << query;
  }
  EXPECT_EQ(ask(nullptr, 13000, 0, &host_.internal), &host_.internal);
  EXPECT_EQ(ask("cuMemMap", 10020, 0, nullptr), nullptr);
  EXPECT_TRUE(host_.passed.empty());
}

TEST_F(ResolverTest, AFunctionAboutMemoryThatNobodyKnowsIsCounted) {
  for (const char* query : {"cuMemOfTomorrow", "cuMemMap_v2", "cuImportExternalArray"}) {
    EXPECT_EQ(ask(query, 99000, 0, &host_.internal), &host_.internal) << query;
  }
  EXPECT_EQ(host_.passed,
            (std::vector<std::string>{
                "cuMemOfTomorrow asked for: a function about memory that is not checked",
                "cuMemMap_v2 asked for: a function about memory that is not checked",
                "cuImportExternalArray asked for: a function about memory that is not checked"}));
  host_.passed.clear();
  // A known function that is not intercepted; a function that is not about memory; and no function
  // at all.
  EXPECT_EQ(ask("cuMemGetInfo", 3020, 0, &host_.internal), &host_.internal);
  EXPECT_EQ(ask("cuModuleGetFunction", 13000, 0, &host_.internal), &host_.internal);
  EXPECT_EQ(ask("cuMemOfTomorrow", 99000, 0, nullptr), nullptr);
  EXPECT_TRUE(host_.passed.empty());
}

TEST_F(ResolverTest, ItselfInTheAbiOfTheVersion) {
  EXPECT_EQ(ask("cuGetProcAddress", 11030, 0, &host_.internal), &host_.four);
  EXPECT_EQ(ask("cuGetProcAddress", 11080, 0, &host_.internal), &host_.four);
  EXPECT_EQ(ask("cuGetProcAddress", 12000, 0, &host_.internal), &host_.five);
  EXPECT_EQ(ask("cuGetProcAddress", 99000, 0, &host_.internal), &host_.five);
}

TEST_F(ResolverTest, MulticastIsRefusedUnlessAllowed) {
  int marked = 0;
  for (const SymbolInfo& info : symbols()) {
    if (!can_multicast(info.entry)) continue;
    ++marked;
    for (const char* name : {info.query, info.name}) {
      for (const int version : {info.version, 12010, 13050, 99000}) {
        for (const std::uint64_t flags : {0, 2}) {
          EXPECT_EQ(ask(name, version, flags, driver_function(info.name)), &host_.refused) << name;
          EXPECT_EQ(ask(name, version, flags, &host_.internal), &host_.refused) << name;
        }
      }
    }
  }
  EXPECT_GE(marked, 8);
  EXPECT_TRUE(host_.passed.empty());
  const char* const unknown[] = {"cuMulticastOfTomorrow", "cuLogicalEndpointCreate",
                                 "cuFabricCpyBatchAsync"};
  for (const char* name : unknown) {
    EXPECT_EQ(ask(name, 99000, 0, &host_.internal), &host_.refused) << name;
  }
  host_.allow_multicast = true;
  EXPECT_EQ(ask("cuMulticastCreate", 12010, 0, &host_.internal),
            host_.wrapper(Symbol::k_cuMulticastCreate));
  for (const char* name : unknown) {
    EXPECT_EQ(ask(name, 99000, 0, &host_.internal), &host_.internal) << name;
  }
}

}  // namespace
}  // namespace cuvmm::shim
