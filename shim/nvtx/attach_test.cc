// SPDX-License-Identifier: Apache-2.0
#include "shim/nvtx/attach.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "shim/nvtx/memory.h"
#include "shim/nvtx/ranges.h"

namespace cuvmm::shim::nvtx {
namespace {

using Names = std::vector<std::string>;

// A copy of NVTX in a program, before it has a tool.
void looks_for_a_tool() {}
Function g_core[16], g_core2[16];
Function* g_core_slots[16];
Function* g_core2_slots[16];

int functions_of(int module, Function*** table, unsigned* count) {
  if (module != kModuleCore && module != kModuleCore2) return 0;
  *table = module == kModuleCore ? g_core_slots : g_core2_slots;
  *count = 16;
  return 1;
}

const void* export_table(std::uint32_t table) {
  static const CallbacksTable kTable = {sizeof(CallbacksTable), &functions_of};
  return table == kCallbacksTable ? &kTable : nullptr;
}

template <class Type>
Type* core(unsigned id) {
  return reinterpret_cast<Type*>(g_core[id]);
}
template <class Type>
Type* core2(unsigned id) {
  return reinterpret_cast<Type*>(g_core2[id]);
}

class AttachTest : public ::testing::Test {
 protected:
  void SetUp() override { attach_with(nullptr); }
  static void attach_with(Initialize next) {
    for (unsigned id = 0; id < 16; ++id) {
      g_core[id] = g_core2[id] = looks_for_a_tool;
      g_core_slots[id] = &g_core[id];
      g_core2_slots[id] = &g_core2[id];
    }
    ASSERT_EQ(attach(&export_table, next), 1);
  }
  static Names open() { return range_texts(open_ranges()); }
};

TEST_F(AttachTest, PushedRangesAreOpenUntilTheyArePopped) {
  auto* const push = core<int(const char*)>(kRangePushA);
  auto* const pop = core<int()>(kRangePop);
  EXPECT_EQ(open(), Names());
  EXPECT_EQ(pop(), -1);
  EXPECT_EQ(push("kv_cache"), 0);
  EXPECT_EQ(push("layer 12"), 1);
  EXPECT_EQ(open(), (Names{"kv_cache", "layer 12"}));
  const RangesId twelve = open_ranges();
  EXPECT_EQ(pop(), 1);
  EXPECT_EQ(push("layer 13"), 1);
  EXPECT_EQ(open(), (Names{"kv_cache", "layer 13"}));
  EXPECT_EQ(pop(), 1);
  EXPECT_EQ(push("layer 12"), 1);
  EXPECT_EQ(open_ranges(), twelve);  // equal names are one list
  EXPECT_EQ(pop(), 1);
  EXPECT_EQ(pop(), 0);
  EXPECT_EQ(open(), Names());
}

TEST_F(AttachTest, AMessageMayBeWideOrRegistered) {
  auto* const push = core<int(const EventAttributes*)>(kRangePushEx);
  auto* const pop = core<int()>(kRangePop);
  EventAttributes attributes{};
  attributes.size = sizeof attributes;
  attributes.message_type = kUnicode;
  attributes.message.wide = L"Schl\u00fcssel \U0001f511";
  push(&attributes);
  EXPECT_EQ(open(), Names{"Schl\u00fcssel \U0001f511"});
  pop();
  attributes.message_type = kRegistered;
  attributes.message.registered =
      core2<const void*(const void*, const char*)>(kDomainRegisterStringA)(nullptr, "known");
  ASSERT_NE(attributes.message.registered, nullptr);
  push(&attributes);
  EXPECT_EQ(open(), Names{"known"});
  pop();
  attributes.size = 8;  // of a version that NVTX does not have
  push(&attributes);
  EXPECT_EQ(open(), Names{""});
  pop();
}

TEST_F(AttachTest, DomainsHaveStacksOfTheirOwn) {
  auto* const create = core2<const void*(const char*)>(kDomainCreateA);
  auto* const push = core2<int(const void*, const EventAttributes*)>(kDomainRangePushEx);
  auto* const pop = core2<int(const void*)>(kDomainRangePop);
  const void* const a = create("a");
  const void* const b = create("b");
  EXPECT_NE(a, b);
  EventAttributes attributes{};
  attributes.size = sizeof attributes;
  attributes.message_type = kAscii;
  attributes.message.ascii = "of a";
  push(a, &attributes);
  attributes.message.ascii = "of b";
  push(b, &attributes);
  EXPECT_EQ(open(), (Names{"a: of a", "b: of b"}));
  pop(a);
  EXPECT_EQ(open(), Names{"b: of b"});
  EXPECT_EQ(pop(a), -1);
  pop(b);
  EXPECT_EQ(open(), Names());
}

TEST_F(AttachTest, EqualNamesInOtherDomainsAreOtherRanges) {
  auto* const create = core2<const void*(const char*)>(kDomainCreateA);
  auto* const create_wide = core2<const void*(const wchar_t*)>(kDomainCreateW);
  auto* const push = core2<int(const void*, const EventAttributes*)>(kDomainRangePushEx);
  auto* const pop = core2<int(const void*)>(kDomainRangePop);
  EventAttributes attributes{};
  attributes.size = sizeof attributes;
  attributes.message_type = kAscii;
  attributes.message.ascii = "load";
  const auto inside = [&](const void* domain) {
    push(domain, &attributes);
    const auto names = range_names(open_ranges());
    EXPECT_EQ(names.size(), 1u);
    const std::string text = names[0].domain + "|" + names[0].name + "|" + names[0].text();
    pop(domain);
    return text;
  };
  EXPECT_EQ(inside(nullptr), "|load|load");
  EXPECT_EQ(inside(create("torch")), "torch|load|torch: load");
  EXPECT_EQ(inside(create_wide(L"\u00e9")), "\u00e9|load|\u00e9: load");
  EXPECT_EQ(inside(create("")), "|load|load");
  EXPECT_EQ(inside(create(std::string(1000, 'd').c_str())).find('|'), 200u);
  EXPECT_EQ(inside(reinterpret_cast<const void*>(0x10)), "|load|load");  // no call made this domain
  attributes.message.ascii = "";
  EXPECT_EQ(inside(create("torch")), "torch||torch:");

  auto* const start =
      core2<std::uint64_t(const void*, const EventAttributes*)>(kDomainRangeStartEx);
  attributes.message.ascii = "step 1";
  const std::uint64_t id = start(create("torch"), &attributes);
  EXPECT_EQ(open(), Names{"torch: step 1"});
  core2<void(const void*, std::uint64_t)>(kDomainRangeEnd)(create("torch"), id);
  EXPECT_EQ(open(), Names());
}

TEST_F(AttachTest, AStartedRangeIsOpenInEveryThread) {
  auto* const start = core<std::uint64_t(const char*)>(kRangeStartA);
  auto* const end = core<void(std::uint64_t)>(kRangeEnd);
  const std::uint64_t id = start("step 1");
  core<int(const char*)>(kRangePushA)("inner");
  EXPECT_EQ(open(), (Names{"step 1", "inner"}));
  std::thread([&] {
    EXPECT_EQ(open(), Names{"step 1"});
    end(id);
  }).join();
  EXPECT_EQ(open(), Names{"inner"});
  core<int()>(kRangePop)();
}

TEST_F(AttachTest, WhatIsTooDeepOrTooLongIsCountedAndCut) {
  auto* const push = core<int(const char*)>(kRangePushA);
  auto* const pop = core<int()>(kRangePop);
  const std::string longest(1000, 'x');
  for (int level = 0; level < 200; ++level) EXPECT_EQ(push(longest.c_str()), level);
  const Names names = open();
  ASSERT_EQ(names.size(), 64u);
  EXPECT_EQ(names.front(), std::string(200, 'x'));
  EXPECT_EQ(names.back(), "");  // the list had no space for the name
  for (int level = 199; level >= 0; --level) EXPECT_EQ(pop(), level);
  EXPECT_EQ(pop(), -1);
}

// --- Another tool

Names g_heard;
int other_push(const char* name) {
  g_heard.push_back(name);
  return 7;
}
std::uint64_t other_start(const char* name) {
  g_heard.push_back(name);
  return 1234;
}
void other_end(std::uint64_t id) { g_heard.push_back(std::to_string(id)); }
const void* other_domain(const char* name) {
  g_heard.push_back(name);
  return reinterpret_cast<const void*>(0x40);
}

int other_tool(GetExportTable get) {
  const auto* const callbacks = static_cast<const CallbacksTable*>(get(kCallbacksTable));
  Function** slots = nullptr;
  unsigned count = 0;
  callbacks->functions(kModuleCore, &slots, &count);
  *slots[kRangePushA] = reinterpret_cast<Function>(other_push);
  *slots[kRangeStartA] = reinterpret_cast<Function>(other_start);
  *slots[kRangeEnd] = reinterpret_cast<Function>(other_end);
  callbacks->functions(kModuleCore2, &slots, &count);
  *slots[kDomainCreateA] = reinterpret_cast<Function>(other_domain);
  return 1;
}

TEST_F(AttachTest, AnotherToolHearsTheSame) {
  attach_with(&other_tool);
  attach_with(&other_tool);  // by another copy of NVTX
  g_heard.clear();
  EXPECT_EQ(core<int(const char*)>(kRangePushA)("pushed"), 7);
  EXPECT_EQ(core<std::uint64_t(const char*)>(kRangeStartA)("started"), 1234u);
  EXPECT_EQ(open(), (Names{"started", "pushed"}));
  core<void(std::uint64_t)>(kRangeEnd)(1234);
  EXPECT_EQ(core<int()>(kRangePop)(), 0);  // the other tool does not handle it
  EXPECT_EQ(open(), Names());
  EXPECT_EQ(g_heard, (Names{"pushed", "started", "1234"}));
  // The other tool's domains have their names in cuvmm's ranges, too.
  const void* const domain = core2<const void*(const char*)>(kDomainCreateA)("theirs");
  EXPECT_EQ(domain, reinterpret_cast<const void*>(0x40));
  EXPECT_EQ(in_domain(domain, "load"), "theirs: load");
  EXPECT_EQ(g_heard.back(), "theirs");
}

// --- Memory

class MemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    segment_.slots = slots_;
    module_.segments = &segment_;
    ASSERT_EQ(attach_extension(&module_, nullptr), 1);
  }
  template <class Result, class... Arguments>
  Result call(MemoryFunction function, Arguments... arguments) {
    return reinterpret_cast<Result (*)(const void*, Arguments...)>(slots_[function])(domain_,
                                                                                     arguments...);
  }
  const void* heap(std::uintptr_t base, std::size_t size, const char* name) {
    const VirtualRange range{size, reinterpret_cast<const void*>(base)};
    HeapDescription description{};
    description.size = sizeof description;
    description.type = kVirtualAddress;
    description.range = &range;
    description.range_size = sizeof range;
    description.message_type = kAscii;
    description.message.ascii = name;
    return call<const void*, const HeapDescription*>(kHeapRegister, &description);
  }

  const void* domain_ = nullptr;
  std::intptr_t slots_[63] = {};
  ExtensionSegment segment_{1, 63, nullptr};
  ExtensionModule module_{
      3, sizeof(ExtensionModule), kMemoryModule, 0x0102, 1, nullptr, nullptr, nullptr};
};

TEST_F(MemoryTest, HeapsAndRegionsAreKnownUntilTheyEnd) {
  const void* const kv = heap(0x100000, 0x10000, "kv_cache");
  EXPECT_EQ(known_memory(0x100000, 0x10000).name, "kv_cache");
  EXPECT_EQ(known_memory(0x0, 0x200000).name, "kv_cache");
  EXPECT_EQ(known_memory(0x110000, 0x10000).name, "");

  const VirtualRange ranges[] = {{0x1000, reinterpret_cast<const void*>(0x100000)},
                                 {0x2000, reinterpret_cast<const void*>(0x104000)}};
  const void* handles[2] = {};
  RegionsRegister batch{};
  batch.type = kVirtualAddress;
  batch.heap = kv;
  batch.count = 2;
  batch.element_size = sizeof ranges[0];
  batch.elements = ranges;
  batch.handles = handles;
  call<void, const RegionsRegister*>(kRegionsRegister, &batch);
  ASSERT_NE(handles[1], nullptr);

  RegionName name{};
  name.name_type = kAscii;
  name.region = handles[1];
  name.name.ascii = "block 12";
  RegionsName names{};
  names.count = 1;
  names.element_size = sizeof name;
  names.elements = &name;
  call<void, const RegionsName*>(kRegionsName, &names);
  EXPECT_EQ(known_memory(0x100000, 0x10000).regions, (Names{"no name, 4 KiB", "block 12, 8 KiB"}));
  EXPECT_EQ(known_memory(0x105fff, 1).regions, Names{"block 12, 8 KiB"});
  EXPECT_EQ(known_memory(0x106000, 1).region_count, 0u);

  RegionsUnregister gone{};
  gone.count = 1;
  gone.element_size = sizeof(void*);
  gone.elements = &handles[0];
  call<void, const RegionsUnregister*>(kRegionsUnregister, &gone);
  EXPECT_EQ(known_memory(0x100000, 0x10000).region_count, 1u);
  call<void, const void*>(kHeapReset, kv);
  EXPECT_EQ(known_memory(0x100000, 0x10000).region_count, 0u);
  EXPECT_EQ(known_memory(0x100000, 0x10000).name, "kv_cache");
  call<void, const void*>(kHeapUnregister, kv);
  EXPECT_EQ(known_memory(0x100000, 0x10000).name, "");
}

TEST_F(MemoryTest, OfManyRegionsTheFirstAreNamed) {
  const void* const pool = heap(0x200000, 0x100000, "pool");
  for (std::uintptr_t i = 0; i < 100; ++i) add_region(pool, 0x200000 + i * 0x1000, 0x1000, nullptr);
  const KnownMemory known = known_memory(0x200000, 0x100000);
  EXPECT_EQ(known.regions.size(), 4u);
  EXPECT_EQ(known.region_count, 100u);
  call<void, const void*>(kHeapUnregister, pool);
}

TEST_F(MemoryTest, ADomainIsToldWhereItIsNotTheDefaultOneOrTheHeaps) {
  const int owner = 0, another = 0;
  name_domain(&owner, "allocator");
  name_domain(&another, "cache");
  domain_ = &owner;
  const void* const nameless = heap(0x900000, 0x1000, "");
  EXPECT_EQ(known_memory(0x900000, 1).name, "");
  const void* const pool = heap(0x300000, 0x10000, "pool");
  EXPECT_EQ(known_memory(0x300000, 1).name, "allocator: pool");
  for (const std::uintptr_t at : {0x300000, 0x301000}) add_region(pool, at, 0x1000, nullptr);
  const auto name = [&](std::uintptr_t at, const char* text) {
    RegionName one{};
    one.name_type = kAscii;
    one.region = reinterpret_cast<const void*>(at);
    one.name.ascii = text;
    RegionsName names{};
    names.count = 1;
    names.element_size = sizeof one;
    names.elements = &one;
    call<void, const RegionsName*>(kRegionsName, &names);
  };
  name(0x300000, "block 1");
  domain_ = &another;
  name(0x301000, "block 2");
  EXPECT_EQ(known_memory(0x300000, 0x2000).regions,
            (Names{"block 1, 4 KiB", "cache: block 2, 4 KiB"}));
  call<void, const void*>(kHeapUnregister, pool);
  call<void, const void*>(kHeapUnregister, nameless);
}

TEST_F(MemoryTest, OtherExtensionsKeepTheirFunctions) {
  std::intptr_t slots[63] = {};
  segment_.slots = slots;
  module_.module = 2;
  EXPECT_EQ(attach_extension(&module_, nullptr), 1);  // 0 would switch Python's package off
  for (const std::intptr_t slot : slots) EXPECT_EQ(slot, 0);
}

}  // namespace
}  // namespace cuvmm::shim::nvtx
