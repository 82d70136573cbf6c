// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "rulebook/testing/endpoint_world.h"

namespace cuvmm::testing::check_fabric_copy_test {
namespace {

const CUstream kStream = reinterpret_cast<CUstream>(std::uintptr_t{0x5000});

CUfabricCpyOperand pointer(Address address) {
  CUfabricCpyOperand operand{};
  operand.type = CU_FABRIC_COPY_OPERAND_TYPE_POINTER;
  operand.op.ptr.ptr = address;
  return operand;
}
CUfabricCpyOperand endpoint(CUlogicalEndpointId id, std::uint64_t offset = 0) {
  CUfabricCpyOperand operand{};
  operand.type = CU_FABRIC_COPY_OPERAND_TYPE_LOGICAL_ENDPOINT;
  operand.op.le.id = id;
  operand.op.le.offset = offset;
  return operand;
}
CUDA_FABRIC_COPY_BATCH_OP copy(const CUfabricCpyOperand& src, const CUfabricCpyOperand& dst,
                               std::size_t size = 4096) {
  CUDA_FABRIC_COPY_BATCH_OP op{};
  op.src = src;
  op.dst = dst;
  op.size = size;
  return op;
}

// A machine on which device 0 makes the copies. Two granules of device 0's memory are at kBase;
// device 1 has a unicast endpoint; and a team has two granules of each device bound.
constexpr CUlogicalEndpointId kFar = 3;
void machine(World& w, int device = 0) {
  endpoints(w);
  create_endpoint(w, kFar, unicast_prop(1));
  query(w, kFar);
  w.reserve(kBase, 4);
  w.map(kBase, 2, kEndpointMemory);
  w.access(kBase, 2, 3, device);
  w.create(0x200, 2, device_prop(1));
  w.map(kBase + 2 * kGranule, 2, 0x200);
  w.access(kBase + 2 * kGranule, 2, 3, device);
  calls::LogicalEndpointBindMem bind = endpoint_bind(kTeam, 2);
  w.accept(bind);
  bind.memHandle = 0x200;
  bind.dev = 1;
  w.accept(bind);
  bind.leId = kFar;
  w.accept(bind);
}

Violations made(const World& w, std::vector<CUDA_FABRIC_COPY_BATCH_OP> ops,
                unsigned long long flags = 0, CUstream stream = kStream, bool per_thread = false) {
  Facts facts;
  facts.place.context = Facts::Answer::kYes;
  facts.place.device = 0;
  facts.place.per_thread = per_thread;
  return check(w.model,
               calls::FabricCpyBatchAsync{
                   .numOps = ops.size(), .opList = ops.data(), .flags = flags, .hStream = stream},
               facts);
}

CUDA_FABRIC_COPY_BATCH_OP legal() { return copy(pointer(kBase), endpoint(kFar)); }

std::vector<RuleCase> cases() {
  return {
      {Rule::kFcSupported,
       [](World& w, bool broken) {
         machine(w);
         w.model.platform().endpoints = {.known = true, .unicast = broken ? 0u : 3u};
         return made(w, {legal()});
       }},
      {Rule::kFcStream,  // under a per-thread name, where NULL is the thread's stream
       [](World& w, bool broken) {
         machine(w);
         return made(w, {legal()}, 0, broken ? CU_STREAM_LEGACY : nullptr, true);
       }},
      {Rule::kFcEndpointBound,  // one device of the team has no binding
       [](World& w, bool broken) {
         machine(w);
         if (broken) {
           w.accept(calls::LogicalEndpointUnbind{
               .leId = kTeam, .dev = 1, .offset = 0, .size = 2 * kGranule});
         }
         return made(w, {copy(pointer(kBase), endpoint(kTeam))});
       }},
      {Rule::kFcLocal,  // with two pointers, one must be local
       [](World& w, bool broken) {
         machine(w);
         const Address far = kBase + 2 * kGranule;
         return made(w, {copy(pointer(broken ? far : kBase), pointer(far + 8192))});
       }},
      {Rule::kFcIndependent,  // one copy reads bytes that the other writes
       [](World& w, bool broken) {
         machine(w);
         return made(w,
                     {copy(pointer(kBase), pointer(kBase + 8192)),
                      copy(pointer(kBase + (broken ? 8192 + 4095 : 8192 + 4096)), endpoint(kFar))});
       }},
      {Rule::kFcIndependent,  // both copies write the same bytes of an endpoint
       [](World& w, bool broken) {
         machine(w);
         return made(w, {copy(pointer(kBase), endpoint(kFar)),
                         copy(pointer(kBase + 8192), endpoint(kFar, broken ? 0 : 4096))});
       }},
  };
}
const ListedCases kListed(cases);

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(FabricCopy, PointersHaveTheRulesOfCopies) {
  World w;
  machine(w);
  const Violations found =
      made(w, {legal(), copy(pointer(kBase + 4 * kGranule - 1), endpoint(kFar))});
  ASSERT_FALSE(found.empty());
  bool unmapped = false;
  for (const Violation& v : found) {
    EXPECT_THAT(v.message, HasSubstr("copy 1: "));
    unmapped |= v.rule == Rule::kDataMapped;
  }
  EXPECT_TRUE(unmapped);
}

TEST(FabricCopy, OperandsOfNoBytesAreCheckedToo) {
  World w;
  machine(w);
  const Violations found = made(w, {copy(pointer(kBase), endpoint(kNew), 0)});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, Rule::kEpExists);
  EXPECT_THAT(found[0].message, HasSubstr("copy 0: dst: "));
}

TEST(FabricCopy, ManyMayReadTheSame) {
  World w;
  machine(w);
  EXPECT_THAT(made(w, {copy(pointer(kBase), endpoint(kFar)), copy(pointer(kBase), endpoint(kTeam)),
                       copy(pointer(kBase), endpoint(kFar, 4096))}),
              IsEmpty());
}

TEST(FabricCopy, ACopyMayLieBetweenTwoOthers) {
  World w;
  machine(w);
  // Copy 2 reads in the middle of the range that copy 0 writes. Copy 1 writes right behind that
  // range, and must not hide the collision.
  const Violations found = made(w, {copy(pointer(kBase + kGranule), pointer(kBase), 65536),
                                    copy(pointer(kBase + kGranule), pointer(kBase + 65536), 16),
                                    copy(pointer(kBase + 32768), endpoint(kFar), 16)});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].message, HasSubstr("copies 0 and 2"));
}

TEST(FabricCopy, WhereOthersMayBindNothingIsSaidOfWhatIsBound) {
  World w;
  machine(w);
  import_endpoint(w, kNew, CU_LOGICAL_ENDPOINT_TYPE_UNICAST);
  query(w, kNew);
  EXPECT_THAT(made(w, {copy(pointer(kBase), endpoint(kNew))}), IsEmpty());
}

TEST(FabricCopy, OfALongBatchTheFirstMistakesAreFound) {
  World w;
  machine(w);
  auto wrong = legal();
  wrong.flags = 1;
  EXPECT_EQ(made(w, std::vector<CUDA_FABRIC_COPY_BATCH_OP>(1000, wrong)).size(), 16u);
}

TEST(FabricCopy, WithoutAContextNothingElseIsSaid) {
  World w;
  Facts facts;
  facts.place.context = Facts::Answer::kNo;
  const Violations found = check(
      w.model, calls::FabricCpyBatchAsync{.numOps = 1, .flags = 1, .hStream = kStream}, facts);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, Rule::kDataContext);
}

}  // namespace
}  // namespace cuvmm::testing::check_fabric_copy_test
