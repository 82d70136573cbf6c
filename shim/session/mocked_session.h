// SPDX-License-Identifier: Apache-2.0
// A session over a mock driver, for tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/driver/expect_ok.h"
#include "api/driver/mock_driver.h"
#include "shim/session/session_run.h"
#include "shim/testing/findings.h"
#include "shim/testing/mock_values.h"

namespace cuvmm::shim {

/// By default the mock passes for the emulator, so that handles need not be readable.
class MockedSession : public ::testing::Test {
 protected:
  explicit MockedSession(SessionOptions options = {.enforce = false, .emulated = true})
      : session_(mock_.driver(), std::move(options), findings_) {}

  /// Makes the call as a wrapper would.
  template <class CallStruct>
  [[gnu::noinline]] CUresult run(const CallStruct& call) {
    return session_.run(Driver::primary_symbol(CallStruct::kEntryPoint), call, CUVMM_CALLER);
  }

  ::testing::NiceMock<MockDriver> mock_;
  Findings findings_;
  Session session_;
};

}  // namespace cuvmm::shim
