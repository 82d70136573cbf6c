// SPDX-License-Identifier: Apache-2.0
#include "rulebook/order/check_owned_use.h"

#include <gmock/gmock.h>

#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_owned_use_test {
namespace {

using ::testing::HasSubstr;

constexpr Address kMemory = 0x3'0000'0000;

GraphOrder::Use fill(Address base, Size size) { return {0, {base, size}, -1, "fill"}; }
GraphOrder::Use kernel(Address address) {
  static const std::string name = "fill(int*)";
  return {0, {address, 0}, 0, "kernel", &name};
}

class OwnedUses : public ::testing::Test {
 protected:
  // The use while its memory lives.
  OwnedUse owned(const GraphOrder::Use& use, const Origin& captured = {}) {
    const auto one = owned_use(world_.model, use, captured);
    EXPECT_TRUE(one);
    return one.value_or(OwnedUse());
  }
  bool known(const GraphOrder::Use& use, const Origin& captured = {}) {
    return owned_use(world_.model, use, captured).has_value();
  }
  void free(Address base) { world_.accept(calls::MemFree{base}); }

  World world_;
};

std::vector<RuleCase> cases() {
  return {{Rule::kLaunchAlive, [](World& w, bool broken) {
             w.plain(kMemory);
             const auto one = owned_use(w.model, fill(kMemory, 64), {});
             if (broken) w.accept(calls::MemFree{kMemory});
             Violations all;
             if (const auto ended = one ? ended_use(w.model, *one) : one)
               all.push_back(launch_of_ended({&*ended, 1}));
             return all;
           }}};
}
const ListedCases kListed(cases);

TEST_F(OwnedUses, NameTheEndTheOwnerAndTheCapturedCall) {
  world_.plain(kMemory);                                            // call 1
  const OwnedUse one = owned(fill(kMemory + 64, 64), world_.at());  // call 2
  free(kMemory);                                                    // call 3
  const auto ended = ended_use(world_.model, one);
  ASSERT_TRUE(ended);
  const Violation v = launch_of_ended({&*ended, 1});
  EXPECT_THAT(v.message, HasSubstr("a fill of [0x300000040, 0x300000080) (64 B) in the graph"));
  EXPECT_THAT(v.message, HasSubstr("call 3 ended it before this launch"));
  ASSERT_EQ(v.objects.size(), 2u);
  EXPECT_EQ(v.objects[0].value, kMemory);
  EXPECT_EQ(v.objects[0].made.call, 1u);
  EXPECT_EQ(v.objects[1].made.call, 2u);
}

TEST_F(OwnedUses, AreFineWhileTheMemoryLivesOrOtherMemoryIsThere) {
  world_.plain(kMemory);
  const OwnedUse one = owned(fill(kMemory, 64));
  EXPECT_FALSE(ended_use(world_.model, one));
  free(kMemory);
  world_.mapped(kMemory, 1);
  EXPECT_FALSE(ended_use(world_.model, one)) << "the address is mapped again";
}

TEST_F(OwnedUses, MappedMemoryEndsWithItsMapping) {
  world_.mapped(kBase, 1);
  const OwnedUse one = owned(fill(kBase, 64));
  world_.unmap(kBase, 1);
  EXPECT_TRUE(ended_use(world_.model, one));
  world_.map(kBase, 1, 0x100);
  EXPECT_FALSE(ended_use(world_.model, one));
}

TEST_F(OwnedUses, MemoryThatEndedBehindTheCaptureCounts) {
  world_.plain(kMemory);
  const Origin captured = world_.at();
  free(kMemory);
  EXPECT_FALSE(known(fill(kMemory, 64))) << "nobody knows when the node was made";
  EXPECT_FALSE(known(fill(kMemory, 64), world_.at())) << "captured behind the free";
  EXPECT_TRUE(ended_use(world_.model, owned(fill(kMemory, 64), captured)));
}

// A registration of host memory ends before the memory does: the shim asks the host about copies.
TEST_F(OwnedUses, RegisteredMemoryIsOwnedByItsRegistrationForCopiesAlone) {
  calls::MemHostRegister call;
  call.p = reinterpret_cast<void*>(kMemory);
  call.bytesize = 4096;
  world_.accept(call);
  EXPECT_FALSE(known(kernel(kMemory)));
  EXPECT_TRUE(known(fill(kMemory, 64)));
}

TEST_F(OwnedUses, ACopyOfHostMemoryThatHadEndedBeforeHasTheOldOwner) {
  world_.plain(kMemory);
  free(kMemory);
  GraphOrder::Use copy = fill(kMemory, 64);
  EXPECT_FALSE(known(copy)) << "memory of a device: the call that added the node was checked";
  copy.of_host = true;
  EXPECT_TRUE(ended_use(world_.model, owned(copy)));
  const OwnedUse captured = owned(copy, world_.at());
  EXPECT_EQ(captured.owner.made.call, 0u) << "a capture: the captured call was checked";
  EXPECT_FALSE(ended_use(world_.model, captured));
  EXPECT_THAT(launch_of_ended({&captured, 1}).message,
              HasSubstr("in the graph uses memory of the host that the host cannot read, [0x3"));
}

TEST_F(OwnedUses, PageLockedMemoryIsNoted) {
  calls::MemHostRegister call;
  call.p = reinterpret_cast<void*>(kMemory);
  call.bytesize = 4096;
  world_.accept(call);
  EXPECT_TRUE(owned(fill(kMemory, 64)).page_locked);
  world_.plain(kMemory + 2 * kPlainSize);
  EXPECT_FALSE(owned(fill(kMemory + 2 * kPlainSize, 64)).page_locked);
}

TEST_F(OwnedUses, AKernelsAddressMayBeTheEndOfTheMemoryInFront) {
  world_.plain(kMemory);
  EXPECT_TRUE(known(kernel(kMemory)));
  world_.plain(kMemory + kPlainSize);
  EXPECT_FALSE(known(kernel(kMemory + kPlainSize)));
  EXPECT_TRUE(known(fill(kMemory + kPlainSize, 64))) << "a fill names its bytes";
  EXPECT_FALSE(known(kernel(kMemory + kPlainSize - 4))) << "one element before the other memory";
  EXPECT_TRUE(known(kernel(kMemory + 64)));
}

TEST_F(OwnedUses, ManyAreOneViolation) {
  world_.plain(kMemory);
  const OwnedUse one = owned(fill(kMemory, 64));
  free(kMemory);
  const OwnedUse both[] = {*ended_use(world_.model, one), *ended_use(world_.model, one)};
  EXPECT_THAT(launch_of_ended(both).message, HasSubstr("; 1 more likewise"));
}

}  // namespace
}  // namespace cuvmm::testing::check_owned_use_test
