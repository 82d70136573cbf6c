// SPDX-License-Identifier: Apache-2.0
// The driver refuses calls while other threads work with the objects that the calls name: the model
// gives nothing up before the driver's answer, and records only after the answer the facts that the
// answer shows.
#include <gmock/gmock.h>

#include <thread>

#include "api/sizes.h"
#include "shim/objects/object_table.h"
#include "shim/session/mocked_session.h"

namespace cuvmm::shim {
namespace {

using testing::_;
using testing::DoAll;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Return;
using testing::SetArgPointee;

class RefusedSession : public MockedSession {
 protected:
  RefusedSession() {
    ON_CALL(mock_, DeviceGetCount(_)).WillByDefault(answers(1));
    ON_CALL(mock_, CtxGetCurrent(_))
        .WillByDefault(answers(reinterpret_cast<CUcontext>(std::uintptr_t{0x10})));
    ON_CALL(mock_, MemAddressReserve(_, _, _, _, _)).WillByDefault(answers(kBase));
    ON_CALL(mock_, MemCreate(_, _, _, _))
        .WillByDefault(answers(CUmemGenericAllocationHandle{0xe00}));
    reserve();
  }
  void reserve() {
    CUdeviceptr ptr = 0;
    EXPECT_OK(run(calls::MemAddressReserve{.ptr = &ptr, .size = kGranule}));
  }
  void map() {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_OK(run(calls::MemCreate{&handle, kGranule, &prop, 0}));
    EXPECT_OK(run(calls::MemMap{.ptr = kBase, .size = kGranule, .handle = handle}));
    const CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    EXPECT_OK(run(calls::MemSetAccess{kBase, kGranule, &access, 1}));
  }
  CUresult fill() { return run(calls::MemsetD8{kBase, 0, 16}); }
  CUresult free() { return run(calls::MemAddressFree{kBase, kGranule}); }
  /// Sets the driver's next answer to a free; the driver answers after another thread has run
  /// `meanwhile`.
  template <class Meanwhile>
  void free_answers(CUresult result, Meanwhile meanwhile) {
    EXPECT_CALL(mock_, MemAddressFree(kBase, kGranule)).WillOnce([=](CUdeviceptr, std::size_t) {
      std::thread(meanwhile).join();
      return result;
    });
  }
  bool reserved() {
    return session_.with_model(
        [](const Model& model) { return model.reservation_at(kBase) != nullptr; });
  }

  static inline const std::string kStillMapped = info(Rule::kFreeUnmapped).id;
};

TEST_F(RefusedSession, AWrongFreeOfAReservationDisturbsNobodyWhoWorksInIt) {
  map();
  free_answers(CUDA_ERROR_INVALID_VALUE, [this] {
    EXPECT_OK(fill());
    EXPECT_OK(run(calls::MemUnmap{kBase, kGranule}));
    EXPECT_OK(run(calls::MemMap{.ptr = kBase, .size = kGranule, .handle = 0xe00}));
  });
  EXPECT_EQ(free(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings_.rules(), ElementsAre(kStillMapped));
  EXPECT_TRUE(reserved());
}

// The near miss: a right free makes the address free for others before the driver answers.
TEST_F(RefusedSession, ARightFreeIsGoneBeforeTheDriverAnswers) {
  free_answers(CUDA_SUCCESS, [this] {
    EXPECT_FALSE(reserved());
    reserve();
  });
  EXPECT_OK(free());
  EXPECT_TRUE(reserved()) << "the other thread's";
  EXPECT_THAT(findings_.rules(), IsEmpty());
}

TEST_F(RefusedSession, AWrongFreeThatTheDriverAcceptsIsRecordedAfterIt) {
  map();
  EXPECT_OK(free());
  EXPECT_THAT(findings_.rules(), ElementsAre(kStillMapped));
  EXPECT_FALSE(reserved());
  session_.with_model([](const Model& model) {
    EXPECT_TRUE(model.tombstones().find(ObjectRef::Kind::kReservation, kBase));
  });
}

TEST_F(RefusedSession, AnAddressGivenOutAgainBeforeThatIsItsNewOwners) {
  map();
  free_answers(CUDA_SUCCESS, [this] { reserve(); });
  EXPECT_OK(free());
  EXPECT_TRUE(reserved());
}

TEST_F(RefusedSession, ARefusedFreeIsRememberedAtExit) {
  map();
  EXPECT_CALL(mock_, MemAddressFree(kBase, kGranule)).WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(free(), CUDA_ERROR_INVALID_VALUE);
  session_.with_model([](const Model& model) {
    const Violations leaks = check_exit(model, [](const Export&) { return false; });
    ASSERT_EQ(leaks.size(), 1u);
    EXPECT_EQ(leaks[0].rule, Rule::kMappingLeak);
  });
}

TEST_F(RefusedSession, ARefusedFillOfAFreedRangeIsExplained) {
  EXPECT_OK(free());
  // The driver accepts the fill: so memory of another kind lies there.
  EXPECT_OK(fill());
  EXPECT_THAT(findings_.rules(), IsEmpty());
  EXPECT_CALL(mock_, MemsetD8(kBase, 0, 16)).WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(fill(), CUDA_ERROR_INVALID_VALUE);
  ASSERT_THAT(findings_.rules(), ElementsAre(info(Rule::kDataMapped).id));
  EXPECT_THAT(findings_.all[0].violation.message, HasSubstr("in a reservation that was freed"));
  ASSERT_EQ(findings_.all[0].violation.objects.size(), 1u);
  EXPECT_EQ(findings_.all[0].violation.objects[0].made.call, 1u);
}

TEST_F(RefusedSession, MemoryOfAnotherKindThereWasRefusedForAnotherReason) {
  EXPECT_OK(free());
  // The memory is another device's: cuMemGetAddressRange does not know it in this context.
  ON_CALL(mock_, MemGetAddressRange(_, _, kBase)).WillByDefault(Return(CUDA_ERROR_NOT_FOUND));
  ON_CALL(mock_, PointerGetAttribute(_, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, kBase))
      .WillByDefault([](void* data, CUpointer_attribute, CUdeviceptr) {
        *static_cast<unsigned*>(data) = CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
      });
  EXPECT_CALL(mock_, MemsetD8(kBase, 0, 16)).WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(fill(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings_.rules(), IsEmpty());
}

TEST_F(RefusedSession, ARefusedFillElsewhereIsTheDriversAffair) {
  EXPECT_OK(free());
  EXPECT_CALL(mock_, MemsetD8(_, 0, 16)).WillRepeatedly(Return(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(run(calls::MemsetD8{kBase + kGranule, 0, 16}), CUDA_ERROR_INVALID_VALUE);
  // Nor does another code mean that nothing is mapped there.
  for (const CUresult other : {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_INVALID_CONTEXT}) {
    EXPECT_CALL(mock_, MemsetD8(kBase, 0, 16)).WillOnce(Return(other));
    EXPECT_EQ(fill(), other);
  }
  EXPECT_THAT(findings_.rules(), IsEmpty());
}

// The near miss: cuMemAlloc had the address meanwhile, and the refused fill misses the memory of
// cuMemAlloc.
TEST_F(RefusedSession, ARefusedFillOfPlainMemoryThatEndedIsNotExplained) {
  for (const bool by_context : {false, true}) {
    EXPECT_OK(free());
    if (by_context) {
      EXPECT_OK(run(calls::DevicePrimaryCtxReset{0}));
    } else {
      EXPECT_OK(run(calls::MemFree{kBase}));
    }
    EXPECT_CALL(mock_, MemsetD8(kBase, 0, 16)).WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
    EXPECT_EQ(fill(), CUDA_ERROR_INVALID_VALUE);
    EXPECT_THAT(findings_.rules(), IsEmpty()) << by_context;
    reserve();
  }
}

// Plain memory is far from every reservation: copies of it take the shortest path through the
// session.
class RefusedPlain : public RefusedSession {
 protected:
  RefusedPlain() {
    ON_CALL(mock_, MemAlloc(_, _)).WillByDefault([](CUdeviceptr* out, std::size_t) {
      *out = kPlain;
      return CUDA_SUCCESS;
    });
    ON_CALL(mock_, MemsetD8(_, _, _)).WillByDefault(Return(CUDA_ERROR_INVALID_VALUE));
    ON_CALL(mock_, PointerGetAttribute(_, _, _)).WillByDefault(Return(CUDA_ERROR_INVALID_VALUE));
    CUdeviceptr out = 0;
    EXPECT_OK(run(calls::MemAlloc{&out, kBytes}));
  }
  // Sets the driver's answers about the memory there.
  void knows(CUdeviceptr base, std::size_t size) {
    ON_CALL(mock_, PointerGetAttribute(_, _, _))
        .WillByDefault([](void* data, CUpointer_attribute, CUdeviceptr) {
          *static_cast<unsigned*>(data) = CU_MEMORYTYPE_DEVICE;
          return CUDA_SUCCESS;
        });
    ON_CALL(mock_, MemGetAddressRange(_, _, _))
        .WillByDefault(DoAll(SetArgPointee<0>(base), SetArgPointee<1>(size), Return(CUDA_SUCCESS)));
  }
  CUresult fill_plain(std::size_t bytes) { return run(calls::MemsetD8{kPlain, 0, bytes}); }
  static constexpr CUdeviceptr kPlain = 0x5000'0000'0000;
  static constexpr std::size_t kBytes = 4096;
};

TEST_F(RefusedPlain, AFillOfFreedMemoryIsExplained) {
  EXPECT_OK(run(calls::MemFree{kPlain}));
  EXPECT_EQ(fill_plain(16), CUDA_ERROR_INVALID_VALUE);
  ASSERT_THAT(findings_.rules(), ElementsAre(info(Rule::kDataAlive).id));
  const Violation& v = findings_.all[0].violation;
  EXPECT_THAT(v.message, HasSubstr("lies in memory that has ended"));
  ASSERT_EQ(v.objects.size(), 1u);
  EXPECT_EQ(v.objects[0].size, kBytes);
  EXPECT_NE(v.objects[0].ended.call, 0u);
}

TEST_F(RefusedPlain, WhatTheDriverKnowsThereIsAnothersByNow) {
  EXPECT_OK(run(calls::MemFree{kPlain}));
  knows(kPlain, kBytes);
  EXPECT_EQ(fill_plain(16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings_.rules(), IsEmpty());
}

TEST_F(RefusedPlain, AFillPastTheEndIsExplained) {
  knows(kPlain, kBytes);
  EXPECT_EQ(fill_plain(kBytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings_.rules(), IsEmpty()) << "there is another reason";
  EXPECT_EQ(fill_plain(kBytes + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings_.rules(), ElementsAre(info(Rule::kDataInside).id));
}

TEST_F(RefusedPlain, MoreThanWasAskedForMayBeThere) {
  knows(kPlain, 2 * kBytes);
  EXPECT_EQ(fill_plain(kBytes + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings_.rules(), IsEmpty());
}

TEST_F(RefusedPlain, AnotherCodeHasAnotherReason) {
  EXPECT_OK(run(calls::MemFree{kPlain}));
  for (const CUresult other :
       {CUDA_SUCCESS, CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_DEINITIALIZED}) {
    EXPECT_CALL(mock_, MemsetD8(kPlain, _, _)).WillOnce(Return(other));
    EXPECT_EQ(fill_plain(16), other);
  }
  EXPECT_THAT(findings_.rules(), IsEmpty());
}

// The program may have meant one of the reservations.
TEST_F(RefusedPlain, ARefusalAmongReservationsIsJudgedAndNoted) {
  class Refusals : public Findings {
   public:
    bool fold_refusal(EntryPoint, CUresult, bool, StackId, Refusal::Purpose) override {
      ++count;
      return true;
    }
    int count = 0;
  };
  Refusals sink;
  Session session{mock_.driver(), {.enforce = false, .emulated = true}, sink};
  const auto run_there = [&]<class CallStruct>(const CallStruct& call) {
    return session.run(Driver::primary_symbol(CallStruct::kEntryPoint), call, CUVMM_CALLER);
  };
  ON_CALL(mock_, MemsetD16(_, _, _)).WillByDefault(Return(CUDA_ERROR_INVALID_VALUE));
  for (const CUdeviceptr base :
       {kPlain - (CUdeviceptr{1} << 30), kPlain + (CUdeviceptr{1} << 30)}) {
    EXPECT_CALL(mock_, MemAddressReserve(_, _, _, _, _)).WillOnce(answers(base));
    CUdeviceptr ptr = 0;
    EXPECT_OK(run_there(calls::MemAddressReserve{.ptr = &ptr, .size = kGranule}));
  }
  EXPECT_EQ(run_there(calls::MemsetD8{kPlain, 0, 16}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(sink.count, 1);
  EXPECT_EQ(run_there(calls::MemsetD8{kPlain - (CUdeviceptr{1} << 32), 0, 16}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(sink.count, 1) << "far from all reservations";
  EXPECT_THAT(sink.rules(), IsEmpty());
  EXPECT_EQ(run_there(calls::MemsetD16{kPlain + 1, 0, 16}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(sink.rules(), ElementsAre(info(Rule::kDataFillAligned).id));
}

TEST_F(RefusedPlain, AFillOnADestroyedStreamIsExplained) {
  const auto stream = reinterpret_cast<CUstream>(std::uintptr_t{0x7000});
  EXPECT_OK(run(calls::StreamDestroy{stream}));
  EXPECT_CALL(mock_, MemsetD8Async(_, _, _, stream))
      .WillRepeatedly(Return(info(Rule::kStreamAlive).code));
  run(calls::MemsetD8Async{kPlain, 0, 16, stream});
  EXPECT_THAT(findings_.rules(), ElementsAre(info(Rule::kStreamAlive).id));
  // A real driver may have given the handle out again.
  Findings real;
  Session session{mock_.driver(), {.enforce = false}, real};
  EXPECT_OK(session.run(Driver::primary_symbol(EntryPoint::kStreamDestroy),
                        calls::StreamDestroy{stream}, CUVMM_CALLER));
  session.run(Driver::primary_symbol(EntryPoint::kMemsetD8Async),
              calls::MemsetD8Async{kPlain, 0, 16, stream}, CUVMM_CALLER);
  EXPECT_THAT(real.rules(), IsEmpty());
}

// The driver may die in the call: so the session must know the violation before it calls the
// driver, for calls of each kind.
TEST_F(RefusedPlain, WhatHasEndedIsKnownBeforeTheDriverIsAsked) {
  const auto stream = reinterpret_cast<CUstream>(std::uintptr_t{0x7100});
  const auto event = reinterpret_cast<CUevent>(std::uintptr_t{0x7200});
  for (const auto& [kind, handle] : {std::pair{PlainObject::Kind::kStream, std::uint64_t{0x7100}},
                                     {PlainObject::Kind::kEvent, std::uint64_t{0x7200}}}) {
    object_table().take(kind, handle);
    object_table().ended(kind, handle, 0, {.call = 1});
  }
  const auto known = [](Rule rule) {
    const InFlight* const call = in_flight();
    EXPECT_TRUE(call && call->violations->size() == 1);
    if (call && !call->violations->empty()) EXPECT_EQ(call->violations->front().rule, rule);
    return CUDA_SUCCESS;
  };
  Findings found;
  Session real{mock_.driver(), {.enforce = false}, found};
  const auto make = [&](const auto& call) {
    return real.run(Driver::primary_symbol(call.kEntryPoint), call, CUVMM_CALLER);
  };
  EXPECT_CALL(mock_, MemsetD8Async(_, _, _, stream))
      .WillOnce([&](auto...) { return known(Rule::kStreamAlive); })
      .WillOnce(Return(CUDA_ERROR_CONTEXT_IS_DESTROYED));
  EXPECT_CALL(mock_, EventQuery(event))
      .WillOnce([&](auto...) { return known(Rule::kEventAlive); })
      .WillOnce(Return(CUDA_ERROR_INVALID_HANDLE));
  make(calls::MemsetD8Async{kPlain, 0, 16, stream});
  make(calls::EventQuery{event});
  EXPECT_THAT(found.rules(), IsEmpty()) << "the handles were given out again, unseen";
  make(calls::MemsetD8Async{kPlain, 0, 16, stream});
  make(calls::EventQuery{event});
  EXPECT_THAT(found.rules(), ElementsAre(info(Rule::kStreamAlive).id, info(Rule::kEventAlive).id));
  object_table().clear(true);
}

// Static objects free their memory after the driver has ended: the driver refuses each call, and no
// call is wrong.
TEST_F(RefusedSession, AfterTheDriversEndNothingIsJudgedAndAllIsGone) {
  map();
  ON_CALL(mock_, MemUnmap(_, _)).WillByDefault(Return(CUDA_ERROR_DEINITIALIZED));
  ON_CALL(mock_, MemRelease(_)).WillByDefault(Return(CUDA_ERROR_DEINITIALIZED));
  ON_CALL(mock_, MemAddressFree(_, _)).WillByDefault(Return(CUDA_ERROR_DEINITIALIZED));
  EXPECT_EQ(run(calls::MemUnmap{kBase, kGranule}), CUDA_ERROR_DEINITIALIZED);
  EXPECT_EQ(run(calls::MemRelease{0xe00}), CUDA_ERROR_DEINITIALIZED);
  EXPECT_EQ(free(), CUDA_ERROR_DEINITIALIZED);
  EXPECT_EQ(free(), CUDA_ERROR_DEINITIALIZED) << "twice, which would be wrong before";
  EXPECT_THAT(findings_.rules(), IsEmpty());
  EXPECT_FALSE(reserved());
  session_.with_model([](const Model& model) {
    EXPECT_TRUE(check_exit(model, [](const Export&) { return false; }).empty());
  });
}

// The near miss: the driver refuses the calls for another reason, and the objects are still there.
// Work has failed, and every call answers so: the program gives its objects back in vain.
TEST_F(RefusedSession, AfterALostContextNothingThatIsGivenBackIsJudgedOrLeaked) {
  map();
  for (const CUresult lost : {CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_FAILED}) {
    ON_CALL(mock_, MemUnmap(_, _)).WillByDefault(Return(lost));
    ON_CALL(mock_, MemRelease(_)).WillByDefault(Return(lost));
    ON_CALL(mock_, MemAddressFree(_, _)).WillByDefault(Return(lost));
    EXPECT_EQ(run(calls::MemUnmap{kBase, kGranule}), lost);
    EXPECT_EQ(run(calls::MemRelease{0xe00}), lost);
    EXPECT_EQ(free(), lost);
  }
  EXPECT_THAT(findings_.rules(), IsEmpty());
  session_.with_model([](const Model& model) {
    EXPECT_TRUE(check_exit(model, [](const Export&) { return false; }).empty());
  });
}

TEST_F(RefusedSession, RefusedBeforeItAllIsStillThere) {
  map();
  ON_CALL(mock_, MemUnmap(_, _)).WillByDefault(Return(CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_EQ(run(calls::MemUnmap{kBase, kGranule}), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_OK(free());
  EXPECT_THAT(findings_.rules(), ElementsAre(kStillMapped));
}

TEST_F(RefusedSession, ARefusedBatchIntoAFreedRangeIsExplained) {
  EXPECT_OK(free());
  CUdeviceptr to[] = {0x1000, kBase}, from[] = {0x2000, 0x3000};
  std::size_t sizes[] = {16, 16};
  ON_CALL(mock_, MemcpyBatchAsync_v2(_, _, _, _, _, _, _, _))
      .WillByDefault(Return(CUDA_ERROR_INVALID_VALUE));
  calls::MemcpyBatchAsync_v2 batch{.dsts = to, .srcs = from, .sizes = sizes, .count = 1};
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  std::size_t first = 0;
  batch.attrs = &attributes;
  batch.attrsIdxs = &first;
  batch.numAttrs = 1;
  batch.hStream = CU_STREAM_PER_THREAD;
  run(batch);
  EXPECT_THAT(findings_.rules(), IsEmpty());
  batch.count = 2;
  run(batch);
  ASSERT_THAT(findings_.rules(), ElementsAre(info(Rule::kDataMapped).id));
  EXPECT_THAT(findings_.all[0].violation.message, HasSubstr("copy 1: dst: "));
}

// A refused call may have written no out-parameter: a value that the program left there is no
// answer, and the pointer need not be valid.
TEST_F(RefusedSession, TheIndexOfARefusedBatchIsNotRead) {
  CUdeviceptr to[] = {0x1000, kBase}, from[] = {0x2000, 0x3000};
  std::size_t sizes[] = {16, 16}, first = 0, left_behind = 140732;
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  CUresult answer = CUDA_ERROR_INVALID_VALUE;
  ON_CALL(mock_, MemcpyBatchAsync(_, _, _, _, _, _, _, _, _)).WillByDefault([&](auto...) {
    return answer;
  });
  calls::MemcpyBatchAsync batch{.dsts = to,
                                .srcs = from,
                                .sizes = sizes,
                                .count = 2,
                                .attrs = &attributes,
                                .attrsIdxs = &first,
                                .numAttrs = 1,
                                .failIdx = &left_behind,
                                .hStream = CU_STREAM_PER_THREAD};
  for (std::size_t* place : {&left_behind, reinterpret_cast<std::size_t*>(std::uintptr_t{0x8})}) {
    batch.failIdx = place;
    for (const CUresult refused : {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_INITIALIZED}) {
      answer = refused;
      findings_.all.clear();
      run(batch);
      ASSERT_EQ(findings_.all.size(), 1u);
      EXPECT_THAT(findings_.all[0].violation.message, testing::Not(HasSubstr("140732")));
    }
  }
}

}  // namespace
}  // namespace cuvmm::shim
