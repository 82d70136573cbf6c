// SPDX-License-Identifier: Apache-2.0
#include "rulebook/order/check_work.h"

#include <gmock/gmock.h>

#include "rulebook/order/check_graph.h"
#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_work_test {
namespace {

constexpr std::uint64_t kG = kGranule;
constexpr Address kPlain = 0x2000'0000;

Facts facts(FoundWork::State state, bool any = true) {
  static const Work work{"kernel", "f(int*)", 0x55};
  static FoundWork found;
  found = {state, &work, {1, 0, 0}, kBase, 0};
  Facts f;
  f.place.context = Facts::Answer::kYes;
  f.order = {&found, any ? std::size_t{1} : 0};
  return f;
}
constexpr auto kInFlight = FoundWork::State::kInFlight;
constexpr auto kMaybe = FoundWork::State::kMayBeInFlight;

// A call without work on the memory, or one that only adds access, takes nothing away.
Violations unmap(World& w, FoundWork::State state, bool any) {
  w.mapped(kBase, 1);
  return check(w.model, calls::MemUnmap{kBase, kG}, facts(state, any));
}
Violations set_access(World& w, FoundWork::State state, unsigned flags) {
  w.mapped(kBase, 1);
  const CUmemAccessDesc had = access_desc(1);
  w.accept(calls::MemSetAccess{kBase, kG, &had, 1});
  const CUmemAccessDesc desc = access_desc(flags);
  return check(w.model, calls::MemSetAccess{kBase, kG, &desc, 1}, facts(state));
}
// The second of two closes.
Violations close(World& w, FoundWork::State state, bool last) {
  for (int i = 0; i < 2; ++i) {
    CUdeviceptr out = kPlain;
    w.accept(calls::IpcOpenMemHandle{.pdptr = &out, .handle = {}, .Flags = 1},
             facts(kMaybe, false));
  }
  if (last) w.accept(calls::IpcCloseMemHandle{.dptr = kPlain});
  return check(w.model, calls::IpcCloseMemHandle{.dptr = kPlain}, facts(state));
}
Violations destroy(World& w, FoundWork::State state, bool any) {
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc{};
  desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  desc.handle.fd = 7;
  desc.size = kG;
  auto out = reinterpret_cast<CUexternalMemory>(std::uintptr_t{0x77});
  w.accept(calls::ImportExternalMemory{.extMem_out = &out, .memHandleDesc = &desc});
  return check(w.model, calls::DestroyExternalMemory{.extMem = out}, facts(state, any));
}
Violations launch(World& w, Address address, int device = 0) {
  const LaunchArgument argument{address, 0};
  return check_launch(w.model, &argument, 1, device, true);
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kUnmapInFlight, [](World& w, bool broken) { return unmap(w, kInFlight, broken); }},
      {Rule::kUnmapOrdered, [](World& w, bool broken) { return unmap(w, kMaybe, broken); }},
      {Rule::kAccessInFlight,
       [](World& w, bool broken) { return set_access(w, kInFlight, broken ? 0 : 3); }},
      {Rule::kAccessOrdered,
       [](World& w, bool broken) { return set_access(w, kMaybe, broken ? 0 : 1); }},
      {Rule::kIpcCloseInFlight, [](World& w, bool broken) { return close(w, kInFlight, broken); }},
      {Rule::kIpcCloseOrdered, [](World& w, bool broken) { return close(w, kMaybe, broken); }},
      {Rule::kExtDestroyInFlight,
       [](World& w, bool broken) { return destroy(w, kInFlight, broken); }},
      {Rule::kExtDestroyOrdered, [](World& w, bool broken) { return destroy(w, kMaybe, broken); }},
      {Rule::kMemFreeAsyncOrdered,
       [](World& w, bool broken) {
         const Address memory = w.plain(kBase + 16 * kG);
         return check(w.model, calls::MemFreeAsync{.dptr = memory}, facts(kInFlight, broken));
       }},
      {Rule::kMemFreeInFlight,
       [](World& w, bool broken) {
         const Address memory = w.plain(kBase + 16 * kG);
         return check(w.model, calls::MemFree{.dptr = memory}, facts(kInFlight, broken));
       }},
      {Rule::kMemFreeOrdered,
       [](World& w, bool broken) {
         const Address memory = w.plain(kBase + 16 * kG);
         return check(w.model, calls::MemFree{.dptr = memory}, facts(kMaybe, broken));
       }},
      {Rule::kGraphAutoFreeOrdered,
       [](World&, bool broken) { return check_auto_free(facts(kMaybe, broken).order); }},
      {Rule::kLaunchMapped,
       [](World& w, bool broken) {
         w.reserve(kBase, 4);
         w.create(0x100, 1);
         w.map(kBase, 1, 0x100);
         // The end of a mapping: a kernel does not use the byte there.
         return launch(w, kBase + (broken ? 2 : 1) * kG, -1);
       }},
      {Rule::kLaunchAlive,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         if (broken) w.unmap(kBase, 1);
         return launch(w, kBase, -1);
       }},
      {Rule::kLaunchAlive,  // memory of a pool
       [](World& w, bool broken) {
         CUdeviceptr out = kPlain;
         w.accept(calls::MemAllocAsync{.dptr = &out, .bytesize = kG});
         if (broken) w.accept(calls::MemFreeAsync{.dptr = kPlain});
         return launch(w, kPlain + 8);
       }},
      {Rule::kDataPoolOrdered,
       [](World& w, bool broken) {
         CUdeviceptr out = kPlain;
         w.accept(calls::MemAllocAsync{.dptr = &out, .bytesize = kG});
         if (!broken) w.accept(calls::MemFreeAsync{.dptr = kPlain});
         return check_early_use(w.model, {"argument 0 is 0x20000000", kPlain, 0x55, 0});
       }},
      {Rule::kLaunchAccess,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         const CUmemAccessDesc desc = access_desc(3, 0);
         w.accept(calls::MemSetAccess{kBase, kG, &desc, 1});
         return launch(w, kBase, broken ? 1 : 0);
       }},
  };
}
const ListedCases kListed(cases);

using ::testing::HasSubstr;
using ::testing::SizeIs;

class CheckWork : public ::testing::Test {
 protected:
  Violations check(std::vector<FoundWork> found) {
    detail::Collector out;
    Facts::Order order{found.data(), found.size()};
    detail::add_work(out, order, Rule::kUnmapInFlight, Rule::kUnmapOrdered, "memory is unmapped");
    return out.take();
  }
  const Work kernel_{"kernel", "f(int*)", 0x55};
  const Work copy_{"copy", "", 0};
};

TEST_F(CheckWork, CertainAndUncertainWorkAreNeverMixed) {
  const Violations v = check({{FoundWork::State::kInFlight, &kernel_, {7, 0, 0}, 0x1000, 0},
                              {FoundWork::State::kMayBeInFlight, &copy_, {6, 0, 0}, 0x1000, 16},
                              {FoundWork::State::kMayBeInFlight, &copy_, {5, 0, 0}, 0x1000, 16}});
  ASSERT_EQ(v.size(), 2u);
  EXPECT_EQ(v[0].rule, Rule::kUnmapInFlight);
  EXPECT_EQ(v[0].message,
            "memory is unmapped while the kernel f(int*) on stream 0x55 (argument 0x1000, call 7) "
            "is not finished");
  EXPECT_THAT(v[0].objects, SizeIs(1));
  EXPECT_EQ(v[1].rule, Rule::kUnmapOrdered);
  EXPECT_THAT(v[1].message, HasSubstr("a copy on the legacy default stream"));
  EXPECT_THAT(v[1].message, HasSubstr("; 1 more use it"));
  EXPECT_THAT(v[1].objects, SizeIs(2));
}

TEST_F(CheckWork, OfManyAFewAreNamed) {
  const std::vector<FoundWork> many(10,
                                    {FoundWork::State::kInFlight, &kernel_, {7, 0, 0}, 0x1000, 0});
  const Violations v = check(many);
  ASSERT_EQ(v.size(), 1u);
  EXPECT_THAT(v[0].objects, SizeIs(4));
  EXPECT_THAT(v[0].message, HasSubstr("; 9 more use it"));
}

// Time decides whether the work is still under way, so the answer depends on the driver and the
// mode. The kind of the finding does not.
TEST_F(CheckWork, TheKindDoesNotDependOnTime) {
  constexpr Rule kThese[] = {Rule::kUnmapInFlight,      Rule::kUnmapOrdered,
                             Rule::kAccessInFlight,     Rule::kAccessOrdered,
                             Rule::kExtDestroyInFlight, Rule::kExtDestroyOrdered,
                             Rule::kIpcCloseInFlight,   Rule::kIpcCloseOrdered,
                             Rule::kMemFreeInFlight,    Rule::kMemFreeOrdered};
  for (const Rule rule : kThese) {
    EXPECT_EQ(info(rule).kind, RuleKind::kUndefined) << info(rule).id;
  }
}

}  // namespace
}  // namespace cuvmm::testing::check_work_test
