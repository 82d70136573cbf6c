// SPDX-License-Identifier: Apache-2.0
// Threads launch on shared streams, wait, and take memory away. The test's main value is under the
// tsan preset.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "shim/testing/work_world.h"

namespace cuvmm::shim {
namespace {

class Counting : public FindingSink {
 public:
  void take(Finding) override { count.fetch_add(1); }
  std::atomic<std::uint64_t> count{0};
};

// A driver of its own, because the questions of WorkWorld keep a list: every stream is idle.
Questions idle_questions() {
  Questions q;
  q.context = [](CUcontext* context) {
    *context = reinterpret_cast<CUcontext>(std::uintptr_t{0xc0});
    return CUDA_SUCCESS;
  };
  q.stream_context = [](CUstream, CUcontext* context) {
    *context = reinterpret_cast<CUcontext>(std::uintptr_t{0xc0});
    return CUDA_SUCCESS;
  };
  q.stream_flags = [](CUstream, unsigned* flags) {
    *flags = 0;
    return CUDA_SUCCESS;
  };
  q.stream_query = [](CUstream) { return CUDA_SUCCESS; };
  q.is_capturing = [](CUstream, CUstreamCaptureStatus* status) {
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  };
  q.exchange_mode = [](CUstreamCaptureMode*) { return CUDA_SUCCESS; };
  q.event_create = [](CUevent* event, unsigned) {
    static std::atomic<std::uintptr_t> next{0xee00};
    *event = reinterpret_cast<CUevent>(next.fetch_add(1));
    return CUDA_SUCCESS;
  };
  q.event_record = [](CUevent, CUstream) { return CUDA_SUCCESS; };
  q.event_query = [](CUevent) { return CUDA_SUCCESS; };
  q.function_parameter = [](CUfunction, std::size_t index, std::size_t* offset, std::size_t* size) {
    *offset = 0;
    *size = 8;
    return index == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  };
  q.function_name = [](const char** name, CUfunction) {
    *name = "_Z1kPf";
    return CUDA_SUCCESS;
  };
  return q;
}

class WorkStress : public testing::TestWithParam<AsyncMode> {};

template <class CallStruct>
[[gnu::noinline]] void run(Session& session, const CallStruct& call) {
  EXPECT_EQ(session.run(Driver::primary_symbol(CallStruct::kEntryPoint), call, CUVMM_CALLER),
            CUDA_SUCCESS);
}

void work(Session& session, unsigned number) {
  constexpr CUdeviceptr kBase = 0x700000000000;
  constexpr unsigned kStreams = 3, kRounds = 400;
  const CUdeviceptr mine = kBase + number * 16 * kGranule;
  const auto event = reinterpret_cast<CUevent>(std::uintptr_t{0xe0 + number});
  const auto own = reinterpret_cast<CUstream>(std::uintptr_t{0x90 + number});
  for (unsigned round = 0; round < kRounds; ++round) {
    const auto shared = reinterpret_cast<CUstream>(std::uintptr_t{0x51 + round % kStreams});
    CUdeviceptr reserved = 0;
    run(session, calls::MemAddressReserve{&reserved, kGranule, 0, mine, 0});
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemGenericAllocationHandle handle = 0;
    run(session, calls::MemCreate{&handle, kGranule, &prop, 0});
    run(session, calls::MemMap{mine, kGranule, 0, handle, 0});
    CUmemAccessDesc desc{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    run(session, calls::MemSetAccess{mine, kGranule, &desc, 1});
    std::uint64_t word = mine + 8;
    void* parameters[] = {&word};
    calls::LaunchKernel launch{};
    launch.f = reinterpret_cast<CUfunction>(std::uintptr_t{0xf1});
    launch.kernelParams = parameters;
    for (CUstream stream : {shared, own, CUstream{nullptr}}) {
      launch.hStream = stream;
      run(session, launch);
    }
    run(session, calls::EventRecord{event, shared});
    run(session, calls::StreamWaitEvent{own, event, 0});
    if (round % 4 == 0) run(session, calls::StreamSynchronize{own});
    if (round % 5 == 0) run(session, calls::CtxSynchronize{});
    if (round % 7 == 0) run(session, calls::EventDestroy{event});
    if (round % 11 == 0) run(session, calls::StreamDestroy{own});
    if (round % 97 == 0) run(session, calls::ModuleUnload{nullptr});
    if (round % 131 == 0) run(session, calls::CtxDestroy{nullptr});
    run(session, calls::MemUnmap{mine, kGranule});
    run(session, calls::MemRelease{handle});
    run(session, calls::MemAddressFree{mine, kGranule});
  }
}

TEST_P(WorkStress, WorkThatIsOverIsNeverFound) {
  WorkAnswers answers;
  WorkAnswers::now = &answers;
  const Driver driver = work_driver();
  Counting sink;
  Session session(driver, {.emulated = true, .work = {GetParam(), false, idle_questions()}}, sink);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back([&, i] { work(session, i); });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(sink.count.load(), 0u);
  EXPECT_GT(session.work().counts().tracked, 0u);
  WorkAnswers::now = nullptr;
}

INSTANTIATE_TEST_SUITE_P(Modes, WorkStress,
                         testing::Values(AsyncMode::kObserved, AsyncMode::kExact),
                         [](const auto& mode) {
                           return mode.param == AsyncMode::kExact ? "exact" : "observed";
                         });

}  // namespace
}  // namespace cuvmm::shim
