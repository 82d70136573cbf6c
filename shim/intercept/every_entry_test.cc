// SPDX-License-Identifier: Apache-2.0
// Every call that is intercepted counts as checked in the summary. So each must have a misuse that
// a session finds: an entry without one is a check that somebody forgot to connect.
#include <gmock/gmock.h>

#include <map>
#include <string>

#include "shim/session/session_run.h"
#include "shim/testing/findings.h"

namespace cuvmm::shim {
namespace {

constexpr CUdeviceptr kReserved = 0x700000000000;  ///< with nothing mapped
constexpr std::size_t kSize = 4 << 20;
constexpr std::size_t kFew = 16;

/// The only ones of which no call is a misuse, and why.
const std::map<EntryPoint, std::string> kNeverWrong = {
    {EntryPoint::kCtxDestroy, "followed for what ends with a context; no rule is about it"},
    {EntryPoint::kDevicePrimaryCtxRelease, "the same"},
    {EntryPoint::kDevicePrimaryCtxReset, "the same"},
};

/// Fills a call so that whatever it touches on the device lies in kReserved.
class Filler {
 public:
  template <class T>
  void operator()(ParameterKind kind, const char*, const T& field) {
    T& place = const_cast<T&>(field);  // of a call that is no constant
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

/// A session with a reservation, over a driver that refuses everything but a few questions.
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
  /// Whether a call of nothing but zeros, or one into the reservation, is found to be wrong.
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
#define CUVMM_ENTRY(Name, area, ...)                                                  \
  ++entries;                                                                          \
  EXPECT_NE(finds_a_misuse<calls::Name>(), kNeverWrong.contains(EntryPoint::k##Name)) \
      << calls::Name::kName;
#include "api/entry_points.def"
  EXPECT_GT(entries, 60u);
}

#if CUDA_VERSION >= 13000
TEST_F(EveryEntry, ABatchIsCheckedCopyByCopy) {
  CUdeviceptr to[] = {0x1000, 0x2000, kReserved + 64, 0x3000, 0x4000};
  CUdeviceptr from[] = {0x5000, 0x6000, 0x7000, 0x8000, kReserved};
  std::size_t sizes[] = {16, 16, 16, 0, 16};
  const calls::MemcpyBatchAsync batch{.dsts = to, .srcs = from, .sizes = sizes, .count = 5};
  EXPECT_EQ(run(batch), CUDA_ERROR_INVALID_VALUE);
  ASSERT_THAT(findings_.rules(), testing::ElementsAre("data-mapped", "data-mapped"));
  EXPECT_THAT(findings_.all[0].violation.message, testing::StartsWith("copy 2: dst: "));
  EXPECT_THAT(findings_.all[1].violation.message, testing::StartsWith("copy 4: src: "));
  // The near miss: the same without the two, and the two without bytes.
  findings_.all.clear();
  to[2] = from[4] = 0x9000;
  to[3] = kReserved;
  EXPECT_EQ(run(batch), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings_.rules(), testing::IsEmpty());
}

TEST_F(EveryEntry, OfALongBatchTheFirstMistakesAreFound) {
  std::vector<CUdeviceptr> to(1000, kReserved), from(1000, 0x5000);
  std::vector<std::size_t> sizes(1000, 16);
  run(calls::MemcpyBatchAsync{
      .dsts = to.data(), .srcs = from.data(), .sizes = sizes.data(), .count = 1000});
  EXPECT_EQ(findings_.all.size(), 16u);
}

TEST_F(EveryEntry, ABatchBeforeInitialisationIsReportedAsThat) {
  CUdeviceptr to = 0x1000, from = 0x2000;
  std::size_t size = 16;
  answer(calls::MemcpyBatchAsync{},
         [](CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t, CUmemcpyAttributes*,
            std::size_t*, std::size_t, CUstream) { return CUDA_ERROR_NOT_INITIALIZED; });
  run(calls::MemcpyBatchAsync{.dsts = &to, .srcs = &from, .sizes = &size, .count = 1});
  EXPECT_THAT(findings_.rules(), testing::ElementsAre("driver-initialized"));
}
#endif

}  // namespace
}  // namespace cuvmm::shim
