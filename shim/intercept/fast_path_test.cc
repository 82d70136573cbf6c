// SPDX-License-Identifier: Apache-2.0
// The facts that the time budgets rest on: once warm, no VMM call and no copy allocates in the
// shim, and no thread waits for a thread that is in the driver.
#include <gtest/gtest.h>

#include <cstdlib>
#include <semaphore>
#include <thread>
#include <vector>

#include "api/location.h"
#include "api/sizes.h"
#include "shim/session/session_run.h"
#include "shim/testing/answering_driver.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CUVMM_OWN_MALLOC 0  // the sanitizer has its own malloc
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CUVMM_OWN_MALLOC 0
#endif
#endif
#ifndef CUVMM_OWN_MALLOC
#define CUVMM_OWN_MALLOC 1
#endif

namespace {
thread_local std::uint64_t t_allocations = 0;
}

#if CUVMM_OWN_MALLOC
// Every allocation of this binary, operator new included, ends here.
#pragma GCC visibility push(default)
extern "C" {
void* __libc_malloc(std::size_t);                 // NOLINT(bugprone-reserved-identifier): glibc's
void* __libc_calloc(std::size_t, std::size_t);    // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void*, std::size_t);         // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(std::size_t, std::size_t);  // NOLINT(bugprone-reserved-identifier)
void* malloc(std::size_t size) {
  ++t_allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++t_allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* block, std::size_t size) {
  ++t_allocations;
  return __libc_realloc(block, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++t_allocations;
  return __libc_memalign(alignment, size);
}
}
#pragma GCC visibility pop
#endif

namespace cuvmm::shim {
namespace {

constexpr int kWarm = 4, kRounds = 100;
constexpr int kCallsOfALife = 17;

// A driver with constant answers: each thread has its own address and handle, and gets them every
// time.
thread_local std::uint64_t t_owner = 1;
std::uint64_t own_address() { return 0x7000'0000'0000 + t_owner * (std::uint64_t{1} << 40) / 256; }
std::uint64_t own_handle() { return 0xe000'0000'00 + t_owner * 0x100; }

// A thread can make the driver stop it at one of its next calls until the test lets it go on.
thread_local int t_stand_at = 0;  ///< 1: at the next call; 0: at none
std::binary_semaphore g_stands{0}, g_go_on{0};
CUresult done() {
  if (t_stand_at != 0 && --t_stand_at == 0) {
    g_stands.release();
    g_go_on.acquire();
  }
  return CUDA_SUCCESS;
}

Driver constant_driver() {
  AnsweringDriver answering;
  answering.set(
      calls::MemGetAllocationGranularity{},
      [](std::size_t* size, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
        *size = kGranule;
        return done();
      });
  answering.set(calls::MemAddressReserve{},
                [](CUdeviceptr* ptr, std::size_t, std::size_t, CUdeviceptr, unsigned long long) {
                  *ptr = own_address();
                  return done();
                });
  answering.set(calls::MemAddressFree{}, [](CUdeviceptr, std::size_t) { return done(); });
  answering.set(calls::MemCreate{}, [](CUmemGenericAllocationHandle* handle, std::size_t,
                                       const CUmemAllocationProp*, unsigned long long) {
    *handle = own_handle();
    return done();
  });
  answering.set(calls::MemRelease{}, [](CUmemGenericAllocationHandle) { return done(); });
  answering.set(calls::MemRetainAllocationHandle{},
                [](CUmemGenericAllocationHandle* handle, void*) {
                  *handle = own_handle();
                  return done();
                });
  answering.set(calls::MemGetAllocationPropertiesFromHandle{},
                [](CUmemAllocationProp*, CUmemGenericAllocationHandle) { return done(); });
  answering.set(calls::MemMap{},
                [](CUdeviceptr, std::size_t, std::size_t, CUmemGenericAllocationHandle,
                   unsigned long long) { return done(); });
  answering.set(calls::MemUnmap{}, [](CUdeviceptr, std::size_t) { return done(); });
  answering.set(calls::MemSetAccess{}, [](CUdeviceptr, std::size_t, const CUmemAccessDesc*,
                                          std::size_t) { return done(); });
  answering.set(calls::MemGetAccess{},
                [](unsigned long long*, const CUmemLocation*, CUdeviceptr) { return done(); });
  answering.set(calls::MemcpyHtoD{}, [](CUdeviceptr, const void*, std::size_t) { return done(); });
  answering.set(calls::MemcpyDtoH{}, [](void*, CUdeviceptr, std::size_t) { return done(); });
  answering.set(calls::MemcpyDtoDAsync{},
                [](CUdeviceptr, CUdeviceptr, std::size_t, CUstream) { return done(); });
  answering.set(calls::MemsetD8{}, [](CUdeviceptr, unsigned char, std::size_t) { return done(); });
  return answering.driver();
}

class NoFindings : public FindingSink {
 public:
  void take(Finding finding) override {
    ADD_FAILURE() << info(finding.violation.rule).id << ": " << finding.violation.message;
  }
};

class FastPath : public testing::Test {
 protected:
  /// One life of a block with every call that the fast path is for. `after` gets each call's name
  /// and the number of its allocations.
  template <class After>
  [[gnu::noinline]] void life(After after) {
    const auto call = [&]<class CallStruct>(const CallStruct& c) {
      const std::uint64_t before = t_allocations;
      const CUresult result = run(c);
      const std::uint64_t allocated = t_allocations - before;
      EXPECT_EQ(result, CUDA_SUCCESS) << CallStruct::kName;
      after(CallStruct::kName, allocated);
    };
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = make_location(CU_MEM_LOCATION_TYPE_DEVICE, 0);
    const CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    std::size_t granularity = 0;
    unsigned long long flags = 0;
    CUdeviceptr ptr = 0;
    CUmemGenericAllocationHandle handle = 0;
    char byte = 0;
    call(calls::MemGetAllocationGranularity{.granularity = &granularity, .prop = &prop});
    call(calls::MemAddressReserve{.ptr = &ptr, .size = kGranule});
    call(calls::MemCreate{.handle = &handle, .size = kGranule, .prop = &prop});
    call(calls::MemGetAllocationPropertiesFromHandle{.prop = &prop, .handle = handle});
    call(calls::MemMap{.ptr = ptr, .size = kGranule, .handle = handle});
    call(calls::MemSetAccess{.ptr = ptr, .size = kGranule, .desc = &access, .count = 1});
    call(calls::MemGetAccess{.flags = &flags, .location = &prop.location, .ptr = ptr});
    call(calls::MemcpyHtoD{.dstDevice = ptr, .srcHost = &byte, .ByteCount = 1});
    call(calls::MemcpyHtoD{.dstDevice = 0x1000, .srcHost = &byte, .ByteCount = 1});
    call(calls::MemcpyDtoH{.dstHost = &byte, .srcDevice = ptr, .ByteCount = 1});
    call(calls::MemcpyDtoDAsync{.dstDevice = ptr, .srcDevice = ptr + 1, .ByteCount = 1});
    call(calls::MemsetD8{.dstDevice = ptr, .uc = 0, .N = 1});
    call(calls::MemRetainAllocationHandle{.handle = &handle, .addr = reinterpret_cast<void*>(ptr)});
    call(calls::MemRelease{.handle = handle});
    call(calls::MemUnmap{.ptr = ptr, .size = kGranule});
    call(calls::MemRelease{.handle = handle});
    call(calls::MemAddressFree{.ptr = ptr, .size = kGranule});
  }
  /// Makes the call as a wrapper would.
  template <class CallStruct>
  [[gnu::noinline]] CUresult run(const CallStruct& call) {
    return session_.run(Driver::primary_symbol(CallStruct::kEntryPoint), call, CUVMM_CALLER);
  }

  NoFindings sink_;
  const Driver driver_ = constant_driver();
  Session session_{driver_, {.enforce = false, .emulated = true}, sink_};
};

TEST_F(FastPath, AllocatesNothingOnceWarm) {
  if (!CUVMM_OWN_MALLOC) GTEST_SKIP() << "the heap is the sanitizer's";
  std::uint64_t while_cold = 0;
  for (int round = 0; round < kWarm; ++round) {
    life([&](const char*, std::uint64_t allocated) { while_cold += allocated; });
  }
  EXPECT_GT(while_cold, 0u) << "the count does not work";
  for (int round = 0; round < kRounds; ++round) {
    life([&](const char* name, std::uint64_t allocated) { EXPECT_EQ(allocated, 0u) << name; });
  }
}

// Does as an allocator: many blocks grow and shrink without ever exceeding the earlier maximum.
TEST_F(FastPath, AllocatesNothingWithinTheLargestNumberSeen) {
  if (!CUVMM_OWN_MALLOC) GTEST_SKIP() << "the heap is the sanitizer's";
  constexpr std::size_t kBlocks = 1000;
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = make_location(CU_MEM_LOCATION_TYPE_DEVICE, 0);
  CUdeviceptr ptr = 0;
  CUmemGenericAllocationHandle handle = 0;
  ASSERT_EQ(run(calls::MemAddressReserve{.ptr = &ptr, .size = kBlocks * kGranule}), CUDA_SUCCESS);
  ASSERT_EQ(run(calls::MemCreate{.handle = &handle, .size = kGranule, .prop = &prop}),
            CUDA_SUCCESS);
  std::uint64_t allocated = 0;
  for (int round = 0; round < 3; ++round) {
    const std::uint64_t before = t_allocations;
    for (std::size_t i = 0; i < kBlocks; ++i)
      EXPECT_EQ(run(calls::MemMap{ptr + i * kGranule, kGranule, 0, handle, 0}), CUDA_SUCCESS);
    for (std::size_t i = 0; i < kBlocks; ++i)
      EXPECT_EQ(run(calls::MemUnmap{ptr + i * kGranule, kGranule}), CUDA_SUCCESS);
    allocated = t_allocations - before;
  }
  EXPECT_EQ(allocated, 0u);
}

// Plain memory between two reservations is as far from them as memory elsewhere: a copy is not
// judged, and draws no number.
TEST_F(FastPath, ACopyBetweenReservationsIsNotJudged) {
  CUdeviceptr ptr = 0;
  for (const std::uint64_t owner : {1, 3}) {
    t_owner = owner;
    EXPECT_EQ(run(calls::MemAddressReserve{.ptr = &ptr, .size = kGranule}), CUDA_SUCCESS);
  }
  t_owner = 2;
  const std::uint64_t numbers = session_.last_number();
  EXPECT_EQ(run(calls::MemsetD8{.dstDevice = own_address(), .uc = 0, .N = 1}), CUDA_SUCCESS);
  EXPECT_EQ(session_.last_number(), numbers);
  t_owner = 1;
}

// Whichever driver call one thread is in, another thread's calls find the lock free.
TEST_F(FastPath, NobodyWaitsForAThreadInTheDriver) {
  for (int call = 1; call <= kCallsOfALife; ++call) {
    std::thread other([&] {
      t_owner = 2;
      t_stand_at = call;
      life([](const char*, std::uint64_t) {});
      EXPECT_EQ(t_stand_at, 0) << "a life makes fewer calls than that";
    });
    g_stands.acquire();
    life([](const char*, std::uint64_t) {});
    EXPECT_EQ(session_.contended(), 0u)
        << "while another thread is in the driver, at call " << call;
    g_go_on.release();
    other.join();
  }
}

TEST_F(FastPath, OneThreadNeverWaits) {
  for (int round = 0; round < kRounds; ++round) life([](const char*, std::uint64_t) {});
  EXPECT_EQ(session_.contended(), 0u);
}

}  // namespace
}  // namespace cuvmm::shim
