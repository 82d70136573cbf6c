// SPDX-License-Identifier: Apache-2.0
#include "shim/base/owned_mutex.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

#include "shim/testing/mock_values.h"

namespace cuvmm::shim {
namespace {

TEST(OwnedMutex, KeepsOthersOut) {
  OwnedMutex mutex;
  long sum = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 2000; ++k) {
        const std::lock_guard lock(mutex);
        ++sum;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 8000);
}

TEST(OwnedMutex, WhoWasInterruptedUnderItDoesNotWait) {
  OwnedMutex mutex;
  EXPECT_FALSE(mutex.held_here());
  mutex.lock();
  EXPECT_TRUE(mutex.held_here());
  EXPECT_FALSE(mutex.lock_within(kLong));
  std::thread([&] {
    EXPECT_FALSE(mutex.held_here());
    EXPECT_FALSE(mutex.lock_within(kSoon));
  }).join();
  EXPECT_TRUE(mutex.held_here());
  mutex.unlock();
  if (!mutex.lock_within(kLong)) FAIL();  // written so that clang's check of locks can follow it
  const Locked lock(mutex, kHeldAlready);
  EXPECT_TRUE(mutex.held_here());
}

}  // namespace
}  // namespace cuvmm::shim
