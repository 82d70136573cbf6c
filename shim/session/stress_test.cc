// SPDX-License-Identifier: Apache-2.0
// Threads reserve, create, map, copy, unmap, release and free at once, on a driver that gives a
// name just freed to the next thread that asks. No call is wrong, so the session may make no
// finding.
#include <gmock/gmock.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

#include "api/sizes.h"
#include "shim/session/session_run.h"
#include "shim/testing/answering_driver.h"

namespace cuvmm::shim {
namespace {

constexpr int kThreads = 8;
constexpr int kRounds = 2000;

/// Names from a free list, last freed first out: another thread gets a name while the call that
/// freed it is on its way back.
class Names {
 public:
  Names(std::uint64_t first, std::uint64_t step) : next_(first), step_(step) {}
  std::uint64_t take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::exchange(next_, next_ + step_);
    const std::uint64_t name = free_.back();
    free_.pop_back();
    ++reused_;
    return name;
  }
  void give(std::uint64_t name) {
    {
      const std::lock_guard lock(mutex_);
      free_.push_back(name);
    }
    std::this_thread::yield();  // lets another thread take the name before this call returns
  }
  std::uint64_t reused() const { return reused_; }

 private:
  std::mutex mutex_;
  std::uint64_t next_, step_, reused_ = 0;
  std::vector<std::uint64_t> free_;
};

Names& addresses() {
  static Names names(0x700000000000, 2 * kGranule);
  return names;
}

/// Handles with reference counts, because memory outlives its release while it is mapped.
class Memory {
 public:
  std::uint64_t create() {
    const std::uint64_t handle = names_.take();
    const std::lock_guard lock(mutex_);
    counts_[handle] = 1;
    return handle;
  }
  void add(std::uint64_t handle) {
    const std::lock_guard lock(mutex_);
    ++counts_.at(handle);
  }
  void drop(std::uint64_t handle) {
    {
      const std::lock_guard lock(mutex_);
      if (--counts_.at(handle) != 0) return;
      counts_.erase(handle);
    }
    names_.give(handle);
  }
  void map(std::uint64_t at, std::uint64_t handle) {
    add(handle);
    const std::lock_guard lock(mutex_);
    mapped_[at] = handle;
  }
  void unmap(std::uint64_t at) {
    std::uint64_t handle = 0;
    {
      const std::lock_guard lock(mutex_);
      handle = mapped_.at(at);
      mapped_.erase(at);
    }
    drop(handle);
  }
  std::uint64_t mapped(std::uint64_t at) {
    const std::lock_guard lock(mutex_);
    return mapped_.at(at);
  }
  std::uint64_t reused() const { return names_.reused(); }

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, int> counts_;
  std::unordered_map<std::uint64_t, std::uint64_t> mapped_;
  Names names_{0xe000000100, 0x100};
};

Memory& memory() {
  static Memory memory;
  return memory;
}

Driver reusing_driver() {
  AnsweringDriver answering;
  answering.set(
      calls::MemGetAllocationGranularity{},
      [](std::size_t* size, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
        *size = kGranule;
        return CUDA_SUCCESS;
      });
  answering.set(calls::MemAddressReserve{},
                [](CUdeviceptr* ptr, std::size_t, std::size_t, CUdeviceptr, unsigned long long) {
                  *ptr = addresses().take();
                  return CUDA_SUCCESS;
                });
  answering.set(calls::MemAddressFree{}, [](CUdeviceptr ptr, std::size_t) {
    addresses().give(ptr);
    return CUDA_SUCCESS;
  });
  answering.set(calls::MemCreate{}, [](CUmemGenericAllocationHandle* handle, std::size_t,
                                       const CUmemAllocationProp*, unsigned long long) {
    *handle = memory().create();
    return CUDA_SUCCESS;
  });
  answering.set(calls::MemRelease{}, [](CUmemGenericAllocationHandle handle) {
    memory().drop(handle);
    return CUDA_SUCCESS;
  });
  answering.set(calls::MemRetainAllocationHandle{},
                [](CUmemGenericAllocationHandle* handle, void* address) {
                  *handle = memory().mapped(reinterpret_cast<std::uint64_t>(address));
                  memory().add(*handle);
                  return CUDA_SUCCESS;
                });
  answering.set(calls::MemMap{}, [](CUdeviceptr ptr, std::size_t, std::size_t,
                                    CUmemGenericAllocationHandle handle, unsigned long long) {
    memory().map(ptr, handle);
    return CUDA_SUCCESS;
  });
  answering.set(calls::MemUnmap{}, [](CUdeviceptr ptr, std::size_t) {
    memory().unmap(ptr);
    return CUDA_SUCCESS;
  });
  answering.set(calls::MemSetAccess{}, [](CUdeviceptr, std::size_t, const CUmemAccessDesc*,
                                          std::size_t) { return CUDA_SUCCESS; });
  answering.set(calls::MemsetD8{},
                [](CUdeviceptr, unsigned char, std::size_t) { return CUDA_SUCCESS; });
  return answering.driver();
}

class Findings : public FindingSink {
 public:
  void take(Finding finding) override {
    const std::lock_guard lock(mutex_);
    texts.push_back(std::string(info(finding.violation.rule).id) + ": " +
                    finding.violation.message);
  }
  std::vector<std::string> texts;

 private:
  std::mutex mutex_;
};

template <class CallStruct>
[[gnu::noinline]] void must(Session& session, const CallStruct& call) {
  ASSERT_EQ(session.run(Driver::primary_symbol(CallStruct::kEntryPoint), call, CUVMM_CALLER),
            CUDA_SUCCESS)
      << CallStruct::kName;
}

// One life of a range: half of the rounds release before the unmap, some retain in between.
void one_round(Session& session, int round) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  const CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUdeviceptr ptr = 0;
  CUmemGenericAllocationHandle handle = 0, retained = 0;
  must(session, calls::MemAddressReserve{.ptr = &ptr, .size = 2 * kGranule});
  must(session, calls::MemCreate{.handle = &handle, .size = kGranule, .prop = &prop});
  must(session, calls::MemMap{.ptr = ptr, .size = kGranule, .handle = handle});
  must(session, calls::MemSetAccess{ptr, kGranule, &access, 1});
  must(session, calls::MemsetD8{ptr, 1, kGranule});
  if (round % 2 == 0) must(session, calls::MemRelease{handle});
  if (round % 3 == 0) {
    must(session, calls::MemRetainAllocationHandle{&retained, reinterpret_cast<void*>(ptr)});
    must(session, calls::MemRelease{retained});
  }
  must(session, calls::MemUnmap{ptr, kGranule});
  if (round % 2 != 0) must(session, calls::MemRelease{handle});
  must(session, calls::MemAddressFree{ptr, 2 * kGranule});
}

TEST(Stress, ConcurrentLegalCallsWithReuseFindNothing) {
  const Driver driver = reusing_driver();
  Findings findings;
  Session session(driver, {.enforce = false, .emulated = true}, findings);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) one_round(session, round);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(findings.texts, testing::IsEmpty());
  EXPECT_FALSE(session.off());
  session.with_model([](const Model& model) {
    EXPECT_TRUE(model.reservations().empty());
    EXPECT_TRUE(model.mappings().empty());
    EXPECT_TRUE(model.allocations().empty());
  });
  // The test needs reused addresses and handles.
  EXPECT_GT(addresses().reused(), static_cast<std::uint64_t>(kRounds));
  EXPECT_GT(memory().reused(), static_cast<std::uint64_t>(kRounds));
}

// The test above with wrong calls mixed in: the session finds every wrong call, and no right one.
TEST(Stress, ConcurrentMisuseIsCountedExactly) {
  const Driver driver = reusing_driver();
  Findings findings;
  Session session(driver, {.enforce = true, .emulated = true}, findings);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds / 10; ++round) {
        one_round(session, round);
        session.run(Symbol::k_cuMemMap,
                    calls::MemMap{.ptr = 0x1000, .size = kGranule, .offset = 4096}, CUVMM_CALLER);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto offsets =
      std::count_if(findings.texts.begin(), findings.texts.end(),
                    [](const auto& text) { return text.starts_with("cuMemMap-offset-zero"); });
  EXPECT_EQ(offsets, kThreads * (kRounds / 10));
  EXPECT_THAT(findings.texts, testing::Each(testing::StartsWith("cuMemMap")));
}

}  // namespace
}  // namespace cuvmm::shim
