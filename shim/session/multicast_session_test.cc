// SPDX-License-Identifier: Apache-2.0
// The parts of multicast that only the shim has: a bind may wait for other processes, and cuvmm
// does not see their calls.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "api/sizes.h"
#include "shim/session/mocked_session.h"

namespace cuvmm::shim {
namespace {

using testing::_;
using testing::DoAll;
using testing::IsEmpty;
using testing::Return;
using testing::SetArgPointee;

constexpr CUmemGenericAllocationHandle kObject = 0xe000000900;
constexpr CUmemGenericAllocationHandle kMemory = 0xe000000100;

class MulticastSession : public MockedSession {
 protected:
  MulticastSession() {
    ON_CALL(mock_, DeviceGetCount(_)).WillByDefault(answers(2));
    ON_CALL(mock_, DeviceGetAttribute(_, _, _)).WillByDefault(answers(1));
    for (const auto option :
         {CU_MULTICAST_GRANULARITY_MINIMUM, CU_MULTICAST_GRANULARITY_RECOMMENDED}) {
      ON_CALL(mock_, MulticastGetGranularity(_, _, option)).WillByDefault(answers(kGranule));
    }
    ON_CALL(mock_, MulticastCreate(_, _)).WillByDefault(answers(kObject));
    ON_CALL(mock_, MemCreate(_, _, _, _)).WillByDefault(answers(kMemory));
  }

  CUresult create(unsigned devices, std::size_t size = 4 * kGranule, unsigned long long types = 0) {
    CUmulticastObjectProp prop{};
    prop.numDevices = devices;
    prop.size = size;
    prop.handleTypes = types;
    CUmemGenericAllocationHandle handle = 0;
    return run(calls::MulticastCreate{&handle, &prop});
  }
  void memory(unsigned types = 0) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(types);
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_OK(run(calls::MemCreate{&handle, kGranule, &prop, 0}));
  }
  CUresult add(int device) { return run(calls::MulticastAddDevice{kObject, device}); }
  CUresult bind() { return run(calls::MulticastBindMem{kObject, 0, kMemory, 0, kGranule, 0}); }
  CUresult unbind() { return run(calls::MulticastUnbind{kObject, 0, 0, kGranule}); }
};

TEST_F(MulticastSession, ALegalLifeYieldsNothing) {
  EXPECT_OK(create(2));
  memory();
  add(0);
  add(1);
  bind();
  unbind();
  EXPECT_OK(run(calls::MemRelease{kObject}));
  EXPECT_OK(run(calls::MemRelease{kMemory}));
  EXPECT_THAT(findings_.rules(), IsEmpty());
  session_.with_model([](const Model& model) { EXPECT_TRUE(model.multicasts().empty()); });
}

TEST_F(MulticastSession, TheGranularityIsTheDrivers) {
  EXPECT_CALL(mock_, MulticastCreate(_, _)).WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  create(2, kGranule / 2);
  EXPECT_THAT(findings_.rules(), testing::ElementsAre("cuMulticastCreate-size-granularity"));
}

// A bind waits for other processes, which may wait for other threads of this process.
TEST_F(MulticastSession, NothingIsHeldWhileABindWaits) {
  create(2);
  memory();
  add(0);
  add(1);
  std::promise<void> reached, go;
  EXPECT_CALL(mock_, MulticastBindMem(_, _, _, _, _, _))
      .WillOnce([&](auto, auto, auto, auto, auto, auto) {
        reached.set_value();
        go.get_future().wait();
        return CUDA_SUCCESS;
      });
  std::thread waiting([&] { EXPECT_OK(bind()); });
  reached.get_future().wait();
  // Every user of the session's lock goes on: calls, the model, a report.
  auto others = std::async(std::launch::async, [&] {
    CUdeviceptr ptr = 0;
    EXPECT_OK(run(calls::MemAddressReserve{.ptr = &ptr, .size = kGranule}));
    return session_.with_model([](const Model& model) { return model.multicasts().size(); });
  });
  const bool went_on = others.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  EXPECT_TRUE(went_on) << "the session's lock is held over the driver call";
  go.set_value();
  waiting.join();
  EXPECT_EQ(others.get(), 1u);
}

// Each bind ends only after a call of another thread, which goes through the session too.
TEST_F(MulticastSession, ManyBindsThatWaitForCallsOfOtherThreads) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 200;
  create(1, kThreads * kGranule);
  memory();
  add(0);
  std::atomic<int> released{0};
  ON_CALL(mock_, MulticastBindMem(_, _, _, _, _, _))
      .WillByDefault([&](auto, auto, auto, auto, auto, auto) {
        while (released.load() <= 0) std::this_thread::yield();
        --released;
        return CUDA_SUCCESS;
      });
  ON_CALL(mock_, MemGetAccess(_, _, _)).WillByDefault([&](auto...) {
    ++released;
    return CUDA_SUCCESS;
  });
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const std::size_t offset = static_cast<std::size_t>(thread) * kGranule;
      for (int round = 0; round < kRounds; ++round) {
        run(calls::MulticastBindMem{kObject, offset, kMemory, 0, kGranule, 0});
        run(calls::MulticastUnbind{kObject, 0, offset, kGranule});
      }
    });
  }
  std::thread releaser([&] {
    for (int i = 0; i < kThreads * kRounds; ++i) run(calls::MemGetAccess{});
  });
  for (std::thread& thread : threads) thread.join();
  releaser.join();
  std::vector<std::string> rules = findings_.rules();
  rules.erase(
      std::remove_if(rules.begin(), rules.end(),
                     [](const std::string& rule) { return rule.starts_with("cuMemGetAccess"); }),
      rules.end());
  EXPECT_THAT(rules, IsEmpty());
}

TEST_F(MulticastSession, AnIncompleteTeamOfItsOwnIsReported) {
  create(2);
  memory();
  add(0);
  EXPECT_CALL(mock_, MulticastBindMem(_, _, _, _, _, _))
      .WillOnce(Return(CUDA_ERROR_SYSTEM_NOT_READY));
  bind();
  EXPECT_THAT(findings_.rules(), testing::ElementsAre("multicast-all-added"));
}

TEST_F(MulticastSession, ASharedTeamIsReportedOnlyWhenTheDriverGaveUp) {
  create(2, 4 * kGranule, 1);
  memory(1);
  add(0);
  ON_CALL(mock_, MemExportToShareableHandle(_, _, _, _)).WillByDefault([](void* out, auto...) {
    *static_cast<int*>(out) = -1;
    return CUDA_SUCCESS;
  });
  int fd = 0;
  run(calls::MemExportToShareableHandle{&fd, kObject, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0});
  EXPECT_CALL(mock_, MulticastBindMem(_, _, _, _, _, _))
      .WillOnce(Return(CUDA_SUCCESS))
      .WillOnce(Return(CUDA_ERROR_INVALID_VALUE))
      .WillOnce(Return(CUDA_ERROR_SYSTEM_NOT_READY));
  bind();
  unbind();
  bind();
  EXPECT_THAT(findings_.rules(), IsEmpty());
  bind();
  EXPECT_THAT(findings_.rules(), testing::ElementsAre("multicast-all-added"));
}

TEST_F(MulticastSession, AnImportThatIsNoMemoryIsAnObjectOfWhichNothingIsKnown) {
  ON_CALL(mock_, MemImportFromShareableHandle(_, _, _)).WillByDefault(answers(kObject));
  ON_CALL(mock_, MemGetAllocationPropertiesFromHandle(_, kObject))
      .WillByDefault(Return(CUDA_ERROR_NOT_SUPPORTED));
  CUmemGenericAllocationHandle handle = 0;
  const int fd = open("/dev/null", O_RDONLY);
  run(calls::MemImportFromShareableHandle{&handle,
                                          reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)),
                                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR});
  close(fd);
  EXPECT_CALL(mock_, MulticastAddDevice(_, _))
      .WillOnce(Return(CUDA_SUCCESS))
      .WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  memory(1);
  add(0);
  bind();
  unbind();
  EXPECT_THAT(findings_.rules(), IsEmpty());
  add(1);
  EXPECT_THAT(findings_.rules(), testing::ElementsAre("cuMulticastAddDevice-once"));
}

// The driver gives the range out again before the unbind has returned.
TEST_F(MulticastSession, ARangeBoundAgainInsideAnUnbindIsNotConfused) {
  create(1);
  memory();
  add(0);
  bind();
  EXPECT_CALL(mock_, MulticastUnbind(_, _, _, _)).WillOnce([&](auto...) {
    std::thread([&] { EXPECT_OK(bind()); }).join();
    return CUDA_SUCCESS;
  });
  unbind();
  EXPECT_THAT(findings_.rules(), IsEmpty());
  session_.with_model(
      [](const Model& model) { EXPECT_EQ(model.multicast(kObject)->bindings.size(), 1u); });
}

// A machine whose two devices share no clique of any type.
class CliqueSession : public MulticastSession {
 protected:
  CliqueSession() {
    ON_CALL(mock_, DeviceGetCliqueCount(_, _)).WillByDefault(answers(2));
    ON_CALL(mock_, DeviceGetCliqueInfo(_, _, _))
        .WillByDefault([](CUcliqueInfo* info, std::size_t* count, CUdevice device) {
          *count = 2;
          for (const auto type :
               {CU_CLIQUE_TYPE_MULTICAST_POINTER, CU_CLIQUE_TYPE_MULTICAST_LOGICAL_ENDPOINT}) {
            info->type = type;
            info->id = static_cast<unsigned>(device);
            ++info;
          }
          return CUDA_SUCCESS;
        });
  }
};

TEST_F(CliqueSession, ARefusedDeviceIsExplainedByItsClique) {
  create(2);
  add(0);
  EXPECT_CALL(mock_, MulticastAddDevice(_, 1))
      .WillOnce(Return(CUDA_ERROR_ILLEGAL_STATE))
      .WillOnce(Return(CUDA_ERROR_INVALID_DEVICE))
      .WillOnce(Return(CUDA_SUCCESS));
  add(1);
  EXPECT_THAT(findings_.rules(), IsEmpty()) << "another code has another reason";
  add(1);
  EXPECT_THAT(findings_.rules(), testing::ElementsAre("cuMulticastAddDevice-clique"));
  findings_.all.clear();
  add(1);  // the driver may accept the device all the same
  EXPECT_THAT(findings_.rules(), IsEmpty());
}

class EndpointSession : public CliqueSession {
 protected:
  EndpointSession() {
    ON_CALL(mock_, LogicalEndpointGetLimits(_, _, _))
        .WillByDefault(DoAll(SetArgPointee<0>(kGranule), SetArgPointee<1>(4 * kGranule),
                             Return(CUDA_SUCCESS)));
    ON_CALL(mock_, LogicalEndpointIdReserve(_, _)).WillByDefault(answers(7));
    ON_CALL(mock_, LogicalEndpointQuery(_, _, _))
        .WillByDefault(DoAll(SetArgPointee<2>(1), Return(CUDA_SUCCESS)));
  }
  CUresult create_endpoint(std::size_t size) {
    CUlogicalEndpointId id = 0;
    EXPECT_OK(run(calls::LogicalEndpointIdReserve{&id, 1}));
    CUlogicalEndpointProp prop{};
    prop.type = CU_LOGICAL_ENDPOINT_TYPE_MULTICAST;
    prop.multicast.numDevices = 2;
    prop.size = size;
    return run(calls::LogicalEndpointCreate{7, &prop});
  }
};

TEST_F(EndpointSession, ALegalLifeYieldsNothing) {
  create_endpoint(4 * kGranule);
  memory();
  for (const int device : {0, 1}) run(calls::LogicalEndpointAddDevice{7, device});
  int ready = 0;
  run(calls::LogicalEndpointQuery{7, 1, &ready});
  run(calls::LogicalEndpointBindMem{7, 0, 0, kMemory, 0, kGranule, 0});
  run(calls::LogicalEndpointUnbind{7, 0, 0, kGranule});
  run(calls::LogicalEndpointDestroy{7});
  run(calls::LogicalEndpointIdRelease{7, 1});
  run(calls::MemRelease{kMemory});
  EXPECT_THAT(findings_.rules(), IsEmpty());
  session_.with_model([](const Model& model) {
    EXPECT_TRUE(model.endpoints().endpoints().empty());
    EXPECT_TRUE(model.endpoints().ids().empty());
  });
}

TEST_F(EndpointSession, TheLimitsAreTheDrivers) {
  EXPECT_CALL(mock_, LogicalEndpointCreate(_, _)).WillRepeatedly(Return(CUDA_ERROR_INVALID_VALUE));
  create_endpoint(kGranule / 2);
  EXPECT_THAT(findings_.rules(), testing::ElementsAre("cuLogicalEndpointCreate-size-aligned"));
  findings_.all.clear();
  create_endpoint(5 * kGranule);
  EXPECT_THAT(findings_.rules(), testing::ElementsAre("cuLogicalEndpointCreate-size-max"));
}

TEST_F(EndpointSession, ABindBeforeTheQueryIsFound) {
  create_endpoint(4 * kGranule);
  memory();
  run(calls::LogicalEndpointAddDevice{7, 0});
  run(calls::LogicalEndpointBindMem{7, 0, 0, kMemory, 0, kGranule, 0});
  EXPECT_THAT(findings_.rules(), testing::ElementsAre("endpoint-bind-ready"));
}

TEST_F(MulticastSession, ARefusedUnbindLeavesTheBinding) {
  create(1);
  memory();
  add(0);
  bind();
  EXPECT_CALL(mock_, MulticastUnbind(_, _, _, _)).WillOnce(Return(CUDA_ERROR_ILLEGAL_STATE));
  unbind();
  session_.with_model(
      [](const Model& model) { EXPECT_EQ(model.multicast(kObject)->bindings.size(), 1u); });
}

}  // namespace
}  // namespace cuvmm::shim
