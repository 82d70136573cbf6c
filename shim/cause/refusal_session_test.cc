// SPDX-License-Identifier: Apache-2.0
// Calls that the driver refuses: which of them are reported as refused, and with which facts.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "api/driver/expect_ok.h"
#include "api/driver/mock_driver.h"
#include "api/sizes.h"
#include "shim/findings/ledger.h"
#include "shim/findings/refusal_text.h"
#include "shim/session/session_run.h"
#include "shim/testing/mock_values.h"

namespace cuvmm::shim {
namespace {

using testing::_;
using testing::DoAll;
using testing::HasSubstr;
using testing::NiceMock;
using testing::Not;
using testing::Return;
using testing::SetArgPointee;

constexpr CUdeviceptr kBase = 0x700000000000;
constexpr std::size_t kMany = std::size_t{1} << 40;

class RefusalSession : public testing::Test {
 protected:
  RefusalSession() {
    ON_CALL(mock_, DeviceGetCount(_)).WillByDefault(answers(1));
    ON_CALL(mock_, CtxGetCurrent(_))
        .WillByDefault(answers(reinterpret_cast<CUcontext>(std::uintptr_t{0x10})));
    ON_CALL(mock_, CtxGetDevice(_)).WillByDefault(answers(CUdevice{0}));
    ON_CALL(mock_, MemGetInfo(_, _))
        .WillByDefault(DoAll(SetArgPointee<0>(3 * kGranule), SetArgPointee<1>(32 * kGranule),
                             Return(CUDA_SUCCESS)));
    ON_CALL(mock_, MemAddressReserve(_, _, _, _, _)).WillByDefault(answers(kBase));
    ON_CALL(mock_, MemCreate(_, _, _, _))
        .WillByDefault([this](auto* handle, auto size, auto*, auto) {
          if (size > work_) return CUDA_ERROR_OUT_OF_MEMORY;
          *handle = ++newest_;
          return CUDA_SUCCESS;
        });
  }
  template <class CallStruct>
  [[gnu::noinline]] CUresult run(const CallStruct& call) {
    return session_.run(Driver::primary_symbol(CallStruct::kEntryPoint), call, CUVMM_CALLER);
  }
  [[gnu::noinline]] CUresult create(std::size_t size) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    return run(calls::MemCreate{.handle = &handle_, .size = size, .prop = &prop});
  }
  const RefusalEntry* first() const { return ledger_.refusals().first(); }
  std::string text() const { return refusals_text(ledger_.refusals().first()); }

  std::size_t work_ = 1024 * kGranule;
  CUmemGenericAllocationHandle handle_ = 0;
  CUmemGenericAllocationHandle newest_ = 0xe00;
  NiceMock<MockDriver> mock_;
  Ledger ledger_{Suppressions(), [](const Entry&) {}};
  Session session_{mock_.driver(), {}, ledger_};
};

TEST_F(RefusalSession, MemoryThatRanOutIsSaidWithWhoHoldsIt) {
  ASSERT_OK(create(4 * kGranule));
  const CUmemGenericAllocationHandle mapped = handle_;
  CUdeviceptr ptr = 0;
  ASSERT_OK(run(calls::MemAddressReserve{.ptr = &ptr, .size = 4 * kGranule}));
  ASSERT_OK(run(calls::MemMap{kBase, 4 * kGranule, 0, mapped, 0}));
  ASSERT_OK(create(8 * kGranule));
  EXPECT_EQ(create(kMany), CUDA_ERROR_OUT_OF_MEMORY);

  const RefusalEntry* entry = first();
  ASSERT_TRUE(entry);
  const Refusal& refusal = entry->refusal;
  EXPECT_EQ(refusal.entry, EntryPoint::kMemCreate);
  EXPECT_EQ(refusal.result, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_NE(refusal.call_index, 0u);
  EXPECT_NE(refusal.stack, 0u);
  ASSERT_TRUE(refusal.memory);
  EXPECT_TRUE(refusal.memory->measured);
  EXPECT_EQ(refusal.memory->free, 3 * kGranule);
  EXPECT_EQ(refusal.memory->held.mapped, 4 * kGranule);
  EXPECT_EQ(refusal.memory->held.unmapped, 8 * kGranule);
  ASSERT_EQ(refusal.memory->held.creators.size(), 2u) << "two places made it";
  EXPECT_EQ(refusal.memory->held.creators[0].bytes, 8 * kGranule) << "the largest first";
  EXPECT_EQ(refusal.memory->held.creators[0].count, 1u);
  EXPECT_FALSE(ledger_.totals().any()) << "no error";
  EXPECT_THAT(text(), HasSubstr("cuvmm: refused: cuMemCreate(handle=out, size=1 TiB"));
  EXPECT_THAT(text(), HasSubstr("answered CUDA_ERROR_OUT_OF_MEMORY [cuMemCreate-fits]"));
  EXPECT_THAT(text(), HasSubstr("6 MiB of 64 MiB free; this program holds 24 MiB (8 MiB mapped, "
                                "16 MiB mapped nowhere, kept by handles), other processes and the "
                                "driver 34 MiB"));
  EXPECT_THAT(entry->json, HasSubstr("\"mapped\":8388608,\"unmapped\":16777216"));
}

TEST_F(RefusalSession, AMulticastObjectTakesNoneOfTheDevicesMemory) {
  ON_CALL(mock_, MulticastCreate(_, _)).WillByDefault(Return(CUDA_ERROR_OUT_OF_MEMORY));
  ON_CALL(mock_, DeviceGetAttribute(_, _, _)).WillByDefault(answers(1));  // multicast is supported
  CUmulticastObjectProp prop{};
  prop.numDevices = 1;
  prop.size = 2 * kGranule;
  EXPECT_EQ(run(calls::MulticastCreate{&handle_, &prop}), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_FALSE(ledger_.totals().any());
  ASSERT_TRUE(first());
  EXPECT_FALSE(first()->refusal.memory);
}

// A pool is asked only while it lives, whichever thread destroys it.
TEST_F(RefusalSession, AnotherThreadsDestroyOfAPoolWaitsForTheQuestions) {
  const auto pool = reinterpret_cast<CUmemoryPool>(std::uintptr_t{0x9001});
  std::atomic<bool> destroyed{false};
  std::thread other;
  const auto is_known = [&] {
    return session_.with_model(
        [&](const Model& model) { return model.pools().find(pool) != nullptr; });
  };
  ON_CALL(mock_, MemPoolCreate(_, _)).WillByDefault(answers(pool));
  ON_CALL(mock_, MemPoolDestroy(_)).WillByDefault([&](CUmemoryPool) {
    destroyed = true;
    return CUDA_SUCCESS;
  });
  ON_CALL(mock_, MemPoolGetAttribute(_, _, _))
      .WillByDefault([&](CUmemoryPool asked, CUmemPool_attribute which, void* value) {
        EXPECT_FALSE(asked == pool && destroyed);
        if (asked == pool && !other.joinable()) {
          other = std::thread([&] { run(calls::MemPoolDestroy{pool}); });
          while (is_known()) std::this_thread::yield();
          // Time for a thread that does not wait.
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        *static_cast<cuuint64_t*>(value) =
            asked == pool && which == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ? 6 * kGranule : 0;
        return CUDA_SUCCESS;
      });
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool made = nullptr;
  ASSERT_OK(run(calls::MemPoolCreate{.pool = &made, .poolProps = &props}));
  EXPECT_EQ(create(kMany), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_TRUE(other.joinable()) << "the pool was asked";
  other.join();
  EXPECT_TRUE(destroyed);
  ASSERT_TRUE(first());
  EXPECT_EQ(first()->refusal.memory->cached_in_created, 6 * kGranule);
  EXPECT_THAT(text(), HasSubstr("its own pools keep 12 MiB of which nothing is allocated"));
  ASSERT_EQ(first()->refusal.asides.size(), 1u);
  EXPECT_THAT(first()->refusal.asides[0].text, HasSubstr("its release threshold is 0"));
}

TEST_F(RefusalSession, PoolsThatEndedOrLieElsewhereAreNotAsked) {
  std::uintptr_t newest = 0x9000;
  ON_CALL(mock_, MemPoolCreate(_, _)).WillByDefault([&](CUmemoryPool* made, auto*) {
    *made = reinterpret_cast<CUmemoryPool>(++newest);
    return CUDA_SUCCESS;
  });
  EXPECT_CALL(mock_, MemPoolGetAttribute(_, _, _)).Times(testing::AnyNumber());
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool ended = nullptr, elsewhere = nullptr;
  ASSERT_OK(run(calls::MemPoolCreate{.pool = &ended, .poolProps = &props}));
  ASSERT_OK(run(calls::MemPoolDestroy{ended}));
  props.location.id = 1;
  ASSERT_OK(run(calls::MemPoolCreate{.pool = &elsewhere, .poolProps = &props}));
  EXPECT_CALL(mock_, MemPoolGetAttribute(ended, _, _)).Times(0);
  EXPECT_CALL(mock_, MemPoolGetAttribute(elsewhere, _, _)).Times(0);
  EXPECT_EQ(create(kMany), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_THAT(text(), Not(HasSubstr("pools keep")));
}

TEST_F(RefusalSession, RepeatsFoldByPlace) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(create(kMany), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_TRUE(first());
  EXPECT_EQ(first()->count.load(), 3u);
  EXPECT_FALSE(first()->next.load());
  EXPECT_THAT(text(), HasSubstr(", 3 times"));
}

TEST_F(RefusalSession, WhatALaterCallGetsIsHandled) {
  EXPECT_EQ(create(kMany), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_OK(create(kGranule)) << "less than was wanted: that is no help";
  EXPECT_THAT(text(), Not(testing::IsEmpty()));
  work_ = kMany;
  EXPECT_OK(create(kMany));
  EXPECT_EQ(first()->handled.load(), 1u);
  EXPECT_EQ(text(), "");
}

TEST_F(RefusalSession, WhatAFindingExplainsIsNoRefusal) {
  ON_CALL(mock_, MemCreate(_, _, _, _)).WillByDefault(Return(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(create(0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(ledger_.first());
  EXPECT_FALSE(first());
}

TEST_F(RefusalSession, ACodeThatNoRuleSpeaksOfIsARefusal) {
  ON_CALL(mock_, MemCreate(_, _, _, _)).WillByDefault(Return(CUDA_ERROR_UNKNOWN));
  EXPECT_EQ(create(kGranule), CUDA_ERROR_UNKNOWN);
  ASSERT_TRUE(first());
  EXPECT_FALSE(first()->refusal.memory) << "that is for memory that ran out";
  EXPECT_THAT(first()->json, HasSubstr("\"result\":\"CUDA_ERROR_UNKNOWN\""));
}

TEST_F(RefusalSession, CodesOfEarlierWorkAreOneEntryAndSaidToBeThat) {
  ON_CALL(mock_, MemCreate(_, _, _, _)).WillByDefault(Return(CUDA_ERROR_ILLEGAL_ADDRESS));
  ON_CALL(mock_, MemAddressReserve(_, _, _, _, _))
      .WillByDefault(Return(CUDA_ERROR_ILLEGAL_ADDRESS));
  EXPECT_EQ(create(kGranule), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUdeviceptr ptr = 0;
  EXPECT_EQ(run(calls::MemAddressReserve{.ptr = &ptr, .size = kGranule}),
            CUDA_ERROR_ILLEGAL_ADDRESS);
  ASSERT_TRUE(first());
  EXPECT_FALSE(first()->next.load());
  EXPECT_EQ(first()->count.load(), 2u);
  EXPECT_THAT(text(), HasSubstr("work that failed earlier"));
}

TEST_F(RefusalSession, AddressesThatRanOutAreSaidWithWhatIsReserved) {
  CUdeviceptr ptr = 0;
  ASSERT_OK(run(calls::MemAddressReserve{.ptr = &ptr, .size = 4 * kGranule}));
  ON_CALL(mock_, MemAddressReserve(_, _, _, _, _)).WillByDefault(Return(CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_EQ(run(calls::MemAddressReserve{.ptr = &ptr, .size = kMany}), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_TRUE(first());
  ASSERT_TRUE(first()->refusal.addresses);
  EXPECT_EQ(first()->refusal.addresses->reserved, 4 * kGranule);
  EXPECT_EQ(first()->refusal.addresses->reservations, 1u);
  EXPECT_GT(first()->refusal.addresses->largest_free, kGranule);
  EXPECT_THAT(text(), HasSubstr("this program has reserved 8 MiB in 1 reservation"));
}

TEST(RefusalText, AnAllocatorsFunctionIsSaidWithTheLineOfPythonAboveIt) {
  RefusalEntry entry;
  entry.refusal.unchecked = "cuFoo";
  entry.refusal.result = CUDA_ERROR_UNKNOWN;
  entry.stack = {{.function = "grow_segment()", .module = "/lib/liballocator.so", .file = {}},
                 {.function = "KVCache.grow",
                  .module = {},
                  .file = "cache.py",
                  .line = 4,
                  .language = Language::kPython}};
  entry.ready.store(true);
  EXPECT_THAT(refusals_text(&entry),
              HasSubstr("at grow_segment() (liballocator.so+0x0), for KVCache.grow at cache.py:4 "
                        "(Python)"));
  entry.stack.erase(entry.stack.begin());
  EXPECT_THAT(refusals_text(&entry), HasSubstr(", at KVCache.grow at cache.py:4 (Python)\n"));
  entry.quiet = true;
  EXPECT_EQ(refusals_text(&entry), "");
}

TEST_F(RefusalSession, WithoutADriverNothingWasRefused) {
  ON_CALL(mock_, MemCreate(_, _, _, _)).WillByDefault(Return(CUDA_ERROR_NO_DEVICE));
  EXPECT_EQ(create(kGranule), CUDA_ERROR_NO_DEVICE);
  EXPECT_FALSE(first());
}

}  // namespace
}  // namespace cuvmm::shim
