// SPDX-License-Identifier: Apache-2.0
// The summary counts every call that is intercepted as checked. So each entry point must have a
// misuse that a session finds: if an entry has none, its check is not connected.
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>

#include "shim/session/session_run.h"
#include "shim/testing/findings.h"

namespace cuvmm::shim {
namespace {

constexpr CUdeviceptr kReserved = 0x700000000000;  ///< no memory is mapped there
constexpr std::size_t kSize = 4 << 20;
constexpr std::size_t kFew = 16;

/// The entry points of which no call is a misuse, with the reason; the entry points that only order
/// work are not in this list.
const std::map<EntryPoint, std::string> kNeverWrong = {
    {EntryPoint::kCtxDestroy, "followed for what ends with a context; no rule is about it"},
    {EntryPoint::kDevicePrimaryCtxRelease, "the same"},
    {EntryPoint::kDevicePrimaryCtxReset, "the same"},
    {EntryPoint::kCtxDetach, "the same"},
    {EntryPoint::kGreenCtxDestroy, "the same"},
    {EntryPoint::kArrayCreate, "followed for how large the array is; no rule is about it"},
    {EntryPoint::kArray3DCreate, "the same"},
    {EntryPoint::kMipmappedArrayCreate, "the same"},
    {EntryPoint::kMipmappedArrayGetLevel, "wrong only of an array that was seen to be made"},
    {EntryPoint::kArrayDestroy, "the same"},
    {EntryPoint::kMipmappedArrayDestroy, "the same"},
};

/// Fills a call so that all memory that it touches on the device lies in kReserved.
class Filler {
 public:
  template <class T>
  void operator()(ParameterKind kind, const char*, const T& field) {
    T& place = const_cast<T&>(field);  // the call is not const
    if constexpr (std::is_same_v<T, CUdeviceptr>) {
      place = kReserved;
    } else if constexpr (std::is_same_v<T, CUdeviceptr*>) {
      place = addresses_;
    } else if constexpr (std::is_same_v<T, std::size_t*>) {
      place = sizes_;
    } else if constexpr (std::is_same_v<T, const CUDA_MEMCPY2D*>) {
      place = &(flat_ = record<CUDA_MEMCPY2D>());
    } else if constexpr (std::is_same_v<T, const CUDA_MEMCPY3D*>) {
      place = &(deep_ = record<CUDA_MEMCPY3D>());
      deep_.Depth = 1;
    } else if constexpr (std::is_same_v<T, const CUDA_MEMCPY3D_PEER*>) {
      place = &(peer_ = record<CUDA_MEMCPY3D_PEER>());
      peer_.Depth = 1;
    } else if constexpr (std::is_same_v<T, const void*> || std::is_same_v<T, void*>) {
      const bool host = kind == ParameterKind::kHostIn || kind == ParameterKind::kHostOut;
      if (host) place = reinterpret_cast<T>(kReserved);
    } else if constexpr (std::is_integral_v<T>) {
      const bool amount = kind == ParameterKind::kSize || kind == ParameterKind::kCount ||
                          kind == ParameterKind::kPitch;
      if (amount) place = kFew;
    }
  }

 private:
  template <class Record>
  static Record record() {
    Record copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = copy.dstDevice = kReserved;
    copy.WidthInBytes = kFew;
    copy.Height = 1;
    return copy;
  }
  CUdeviceptr addresses_[kFew] = {kReserved};
  std::size_t sizes_[kFew] = {kFew};
  CUDA_MEMCPY2D flat_{};
  CUDA_MEMCPY3D deep_{};
  CUDA_MEMCPY3D_PEER peer_{};
};

/// A session with a reservation, over a driver that refuses all calls except for a few questions.
// Calls that order work, and whose arguments here are an array that is missing.
const std::set<EntryPoint> kDeadlyOfZeros = {EntryPoint::kLibraryLoadData,
                                             EntryPoint::kLibraryLoadFromFile};

class EveryEntry : public testing::Test {
 protected:
  EveryEntry() {
    const auto refuse = +[] { return CUDA_ERROR_INVALID_VALUE; };
    for (const SymbolInfo& info : symbols()) {
      driver_.set(info.symbol, reinterpret_cast<Driver::AnyFunction>(refuse));
    }
    answer(calls::DeviceGetCount{}, [](int* count) {
      *count = 1;
      return CUDA_SUCCESS;
    });
    answer(calls::CtxGetCurrent{}, [](CUcontext* context) {
      *context = reinterpret_cast<CUcontext>(std::uintptr_t{1});
      return CUDA_SUCCESS;
    });
    answer(calls::CtxGetDevice{}, [](CUdevice* device) {
      *device = 0;
      return CUDA_SUCCESS;
    });
    answer(calls::MemAddressReserve{},
           [](CUdeviceptr* ptr, std::size_t, std::size_t, CUdeviceptr, unsigned long long) {
             if (!ptr) return CUDA_ERROR_INVALID_VALUE;
             *ptr = kReserved;
             return CUDA_SUCCESS;
           });
    // Only this code means that the range is not found.
    answer(calls::MemGetAddressRange{},
           [](CUdeviceptr*, std::size_t*, CUdeviceptr) { return CUDA_ERROR_NOT_FOUND; });
    CUdeviceptr ptr = 0;
    EXPECT_EQ(run(calls::MemAddressReserve{.ptr = &ptr, .size = kSize}), CUDA_SUCCESS);
  }
  template <class CallStruct>
  void answer(const CallStruct&, typename CallStruct::Function function) {
    driver_.set(Driver::primary_symbol(CallStruct::kEntryPoint),
                reinterpret_cast<Driver::AnyFunction>(function));
  }
  template <class CallStruct>
  [[gnu::noinline]] CUresult run(const CallStruct& call) {
    return session_.run(Driver::primary_symbol(CallStruct::kEntryPoint), call, CUVMM_CALLER);
  }
  /// Whether the session finds a mistake in a call of zeros, or in a call into the reservation.
  template <class CallStruct>
  bool finds_a_misuse() {
    findings_.all.clear();
    run(CallStruct{});
    CallStruct filled{};
    Filler filler;
    filled.visit(filler);
    run(filled);
    return !findings_.all.empty();
  }

  Driver driver_;
  Findings findings_;
  Session session_{driver_, {.enforce = false, .emulated = true}, findings_};
};

TEST_F(EveryEntry, ThatCountsAsCheckedFindsSomeMisuse) {
  std::size_t entries = 0;
#define CUVMM_ENTRY(Name, area, ...)                                                         \
  ++entries;                                                                                 \
  EXPECT_NE(finds_a_misuse<calls::Name>(),                                                   \
            kNeverWrong.contains(EntryPoint::k##Name) ||                                     \
                (kOrdersWork<calls::Name> && !kDeadlyOfZeros.contains(EntryPoint::k##Name))) \
      << calls::Name::kName;
#include "api/entry_points.def"
  EXPECT_GT(entries, 60u);
}

/// A batch with right arguments.
calls::MemcpyBatchAsync_v2 good_batch(CUdeviceptr* to, CUdeviceptr* from, std::size_t* sizes,
                                      std::size_t count) {
  static CUmemcpyAttributes attributes = [] {
    CUmemcpyAttributes made{};
    made.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    return made;
  }();
  static std::size_t first = 0;
  return {.dsts = to,
          .srcs = from,
          .sizes = sizes,
          .count = count,
          .attrs = &attributes,
          .attrsIdxs = &first,
          .numAttrs = 1,
          .hStream = CU_STREAM_PER_THREAD};
}

TEST_F(EveryEntry, ABatchIsCheckedCopyByCopy) {
  CUdeviceptr to[] = {0x1000, 0x2000, kReserved + 64, 0x3000, 0x4000};
  CUdeviceptr from[] = {0x5000, 0x6000, 0x7000, 0x8000, kReserved};
  std::size_t sizes[] = {16, 16, 16, 16, 16};
  const calls::MemcpyBatchAsync_v2 batch = good_batch(to, from, sizes, 5);
  EXPECT_EQ(run(batch), CUDA_ERROR_INVALID_VALUE);
  ASSERT_THAT(findings_.rules(), testing::ElementsAre("data-mapped", "data-mapped"));
  EXPECT_THAT(findings_.all[0].violation.message, testing::StartsWith("copy 2: dst: "));
  EXPECT_THAT(findings_.all[1].violation.message, testing::StartsWith("copy 4: src: "));
  // The near miss: the batch without the two mistakes.
  findings_.all.clear();
  to[2] = from[4] = 0x9000;
  EXPECT_EQ(run(batch), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings_.rules(), testing::IsEmpty());
}

TEST_F(EveryEntry, OfALongBatchTheFirstMistakesAreFound) {
  std::vector<CUdeviceptr> to(1000, kReserved), from(1000, 0x5000);
  std::vector<std::size_t> sizes(1000, 16);
  run(good_batch(to.data(), from.data(), sizes.data(), 1000));
  EXPECT_EQ(findings_.all.size(), 16u);
}

TEST_F(EveryEntry, ABatchBeforeInitialisationIsReportedAsThat) {
  CUdeviceptr to = 0x1000, from = 0x2000;
  std::size_t size = 16;
  answer(calls::MemcpyBatchAsync_v2{},
         [](CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t, CUmemcpyAttributes*,
            std::size_t*, std::size_t, CUstream) { return CUDA_ERROR_NOT_INITIALIZED; });
  run(good_batch(&to, &from, &size, 1));
  EXPECT_THAT(findings_.rules(), testing::ElementsAre("driver-initialized"));
}

TEST_F(EveryEntry, ArgumentsOfABatchAreCheckedFarFromReservationsToo) {
  CUdeviceptr to = 0x1000, from = 0x2000;
  std::size_t size = 16;
  calls::MemcpyBatchAsync_v2 batch = good_batch(&to, &from, &size, 1);
  run(batch);
  EXPECT_THAT(findings_.rules(), testing::IsEmpty());
  size = 0;
  run(batch);
  EXPECT_THAT(findings_.rules(), testing::ElementsAre("copy-size-nonzero"));
}

// In a function for per-thread default streams NULL means another stream.
TEST_F(EveryEntry, TheLegacyStreamIsAMistakeUnderItsOwnNamesAlone) {
  CUdeviceptr to = 0x1000, from = 0x2000;
  std::size_t size = 16;
  calls::MemcpyBatchAsync_v2 batch = good_batch(&to, &from, &size, 1);
  batch.hStream = nullptr;
  const auto rules = [&](Symbol symbol) {
    findings_.all.clear();
    session_.run(symbol, batch, CUVMM_CALLER);
    return findings_.rules();
  };
  EXPECT_THAT(rules(Symbol::k_cuMemcpyBatchAsync_v2), testing::ElementsAre("copy-batch-stream"));
  EXPECT_THAT(rules(Symbol::k_cuMemcpyBatchAsync_v2_ptsz), testing::IsEmpty());
  batch.hStream = CU_STREAM_LEGACY;
  EXPECT_THAT(rules(Symbol::k_cuMemcpyBatchAsync_v2_ptsz),
              testing::ElementsAre("copy-batch-stream"));
}

// Memory of a pool is no reservation.
TEST_F(EveryEntry, AStreamMemoryOperationIsLookedAtWhereverItIs) {
  run(calls::StreamWriteValue32{.addr = 0x1002});
  EXPECT_THAT(findings_.rules(), testing::ElementsAre("stream-memory-aligned"));
}

}  // namespace
}  // namespace cuvmm::shim
