// SPDX-License-Identifier: Apache-2.0
#include "rulebook/base/describe_devices.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "api/newer/endpoint.h"
#include "api/newer/pools.h"
#include "rulebook/base/limits.h"

namespace cuvmm::testing::describe_devices_test {
namespace {

/// Answers by (attribute, device); a pair that is not listed has no answer.
struct Answers {
  std::map<std::pair<int, int>, int> values;
  std::optional<int> operator()(int attribute, int device) const {
    const auto found = values.find({attribute, device});
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }
};

TEST(DescribeDevices, WhatOneDeviceDoesNotAnswerIsUnknown) {
  Answers answers;
  answers.values = {{{kDeviceConcurrentManaged, 0}, 1}, {{kDeviceConcurrentManaged, 1}, 0},
                    {{kDeviceHostMultinode, 0}, 1},     {{kDeviceLocalityDomains, 1}, 2},
                    {{kDeviceLocalizedRdma, 0}, 0},     {{kDeviceLocalizedRdma, 1}, 1}};
  Platform platform;
  describe_devices(2, answers, platform);
  EXPECT_TRUE(platform.managed_known);
  EXPECT_FALSE(platform.managed) << "one device cannot";
  EXPECT_FALSE(platform.host_multinode_known);
  EXPECT_TRUE(platform.localized_rdma_known);
  EXPECT_EQ(platform.localized_rdma, 2u);
  EXPECT_EQ(platform.locality_domains, (std::vector<int>{0, 2}));
}

TEST(DescribeDevices, ADriverOfBeforeEndpointsTellsNothingOfThem) {
  Answers answers;
  answers.values = {{{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0}, 99},
                    {{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0}, 0}};
  Platform platform;
  describe_endpoints(1, answers, platform);
  EXPECT_FALSE(platform.endpoints.known);
  EXPECT_EQ(platform.unaligned_binds, 0u);
}

TEST(DescribeDevices, EndpointsAreMasksOfDevices) {
  Answers answers;
  for (const int device : {0, 1}) {
    for (const int attribute : {kAttributeEndpointUnicast, kAttributeEndpointMulticast,
                                kAttributeEndpointCountedOps, kAttributeEndpointUnicastOnOwner}) {
      answers.values[{attribute, device}] = device;
    }
  }
  Platform platform;
  describe_endpoints(2, answers, platform);
  EXPECT_TRUE(platform.endpoints.known);
  EXPECT_EQ(platform.endpoints.unicast, 2u);
  EXPECT_FALSE(platform.endpoints.handle_types_known) << "those came with CUDA 13.4";
  answers.values[{kAttributeEndpointHandleTypes, 0}] = 1;
  answers.values[{kAttributeEndpointHandleTypes, 1}] = 8;
  describe_endpoints(2, answers, platform);
  EXPECT_TRUE(platform.endpoints.handle_types_known);
  EXPECT_EQ(platform.endpoints.handle_types, 9u);
}

TEST(DescribeDevices, TooManyAreNotAsked) {
  Platform platform;
  const auto ask = [](int, int) -> std::optional<int> {
    ADD_FAILURE() << "asked";
    return 1;
  };
  for (const int devices : {-1, 0, kMaxDevices + 1}) {
    describe_devices(devices, ask, platform);
    describe_endpoints(devices, ask, platform);
  }
  EXPECT_FALSE(platform.managed_known || platform.endpoints.known);
}

}  // namespace
}  // namespace cuvmm::testing::describe_devices_test
