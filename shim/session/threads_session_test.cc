// SPDX-License-Identifier: Apache-2.0
// Objects that other threads work with when the process ends.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <semaphore>
#include <thread>

#include "api/sizes.h"
#include "shim/objects/alive.h"
#include "shim/session/session_run.h"
#include "shim/testing/answering_driver.h"
#include "shim/testing/findings.h"

namespace cuvmm::shim {
namespace {

Driver creating_driver() {
  AnsweringDriver answering;
  answering.set(calls::MemCreate{}, [](CUmemGenericAllocationHandle* handle, std::size_t,
                                       const CUmemAllocationProp*, unsigned long long) {
    static std::atomic<std::uint64_t> next{0xe00};
    *handle = next.fetch_add(0x100);
    return CUDA_SUCCESS;
  });
  return answering.driver();
}

class ThreadsSession : public testing::Test {
 protected:
  [[gnu::noinline]] void create() {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(session_.run(Symbol::k_cuMemCreate, calls::MemCreate{&handle, kGranule, &prop, 0},
                           CUVMM_CALLER),
              CUDA_SUCCESS);
  }
  std::size_t leaks() {
    return session_.with_model([](const Model& model) {
      return check_exit(
                 model, [](const Export&) { return false; }, other_threads())
          .size();
    });
  }
  std::uint64_t alive() {
    return session_.with_model([](const Model& model) { return count_alive(model).allocations; });
  }

  const Driver driver_ = creating_driver();
  Findings sink_;
  Session session_{driver_, {.enforce = false, .emulated = true}, sink_};
};

TEST_F(ThreadsSession, WhatAnotherThreadCreatedIsAliveWhileItRuns) {
  std::binary_semaphore created{0}, go{0};
  std::thread other([&] {
    create();
    created.release();
    go.acquire();
  });
  created.acquire();
  EXPECT_EQ(leaks(), 0u);
  EXPECT_EQ(alive(), 1u);
  // An object of the calling thread is a leak in any case.
  create();
  EXPECT_EQ(leaks(), 1u);
  EXPECT_EQ(alive(), 1u);
  go.release();
  other.join();
  EXPECT_EQ(leaks(), 2u) << "it ended, and left its memory behind";
  EXPECT_EQ(alive(), 0u);
}

TEST_F(ThreadsSession, TheOthersAreListedWithoutTheCaller) {
  const auto own = static_cast<std::uint32_t>(::gettid());
  std::binary_semaphore known{0}, go{0};
  std::uint32_t number = 0;
  std::thread other([&] {
    number = static_cast<std::uint32_t>(::gettid());
    known.release();
    go.acquire();
  });
  known.acquire();
  const std::vector<std::uint32_t> threads = other_threads();
  EXPECT_TRUE(std::ranges::is_sorted(threads));
  EXPECT_TRUE(std::ranges::binary_search(threads, number));
  EXPECT_FALSE(std::ranges::binary_search(threads, own));
  go.release();
  other.join();
  EXPECT_FALSE(std::ranges::binary_search(other_threads(), number)) << "though joined just now";
}

}  // namespace
}  // namespace cuvmm::shim
