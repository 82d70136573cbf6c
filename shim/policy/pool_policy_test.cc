// SPDX-License-Identifier: Apache-2.0
// Pools that the driver hands out or imports: the questions to the driver, and the facts that are
// known then. And legal calls of newer CUDA versions, which must have no finding.
#include "shim/policy/pool_policy.h"
#include "shim/session/mocked_session.h"

#include <gmock/gmock.h>

#include <map>

namespace cuvmm::shim {
namespace {

using testing::_;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Return;

/// A driver of `version` with two devices of two locality domains each; the devices read managed
/// memory while the host does. The driver describes pools by `attributes_`.
class PoolSession : public MockedSession {
 protected:
  PoolSession() { start(13050); }

  void start(int version) {
    ON_CALL(mock_, DeviceGetCount(_)).WillByDefault(answers(2));
    ON_CALL(mock_, DriverGetVersion(_)).WillByDefault(answers(version));
    ON_CALL(mock_, DeviceGetAttribute(_, _, _))
        .WillByDefault([version](int* value, CUdevice_attribute attribute, CUdevice) {
          const bool newer =
              attribute == kDeviceLocalityDomains || attribute == kDeviceLocalizedRdma;
          if (newer && version < 13040) return CUDA_ERROR_INVALID_VALUE;
          *value = attribute == kDeviceLocalityDomains ? 2 : attribute != kDeviceLocalizedRdma;
          return CUDA_SUCCESS;
        });
    ON_CALL(mock_, MemPoolCreate(_, _)).WillByDefault(answers(kPool));
    ON_CALL(mock_, DeviceGetDefaultMemPool(_, _))
        .WillByDefault([](CUmemoryPool* pool, CUdevice device) {
          *pool = reinterpret_cast<CUmemoryPool>(0x100 + std::uintptr_t(device));
          return CUDA_SUCCESS;
        });
    ON_CALL(mock_, DeviceGetMemPool(_, _)).WillByDefault(answers(kPool));
    ON_CALL(mock_, MemPoolImportFromShareableHandle(_, _, _, _)).WillByDefault(answers(kPool));
    ON_CALL(mock_, MemPoolGetAttribute(_, _, _))
        .WillByDefault([this](CUmemoryPool, CUmemPool_attribute attribute, void* value) {
          const auto found = attributes_.find(attribute);
          if (found == attributes_.end()) return CUDA_ERROR_INVALID_VALUE;
          *static_cast<int*>(value) = found->second;
          return CUDA_SUCCESS;
        });
  }

  void describe(int location_type, int id, int handle_types = 0) {
    attributes_ = {{kPoolAttributeAllocationType, 1},
                   {kPoolAttributeHandleTypes, handle_types},
                   {kPoolAttributeLocationType, location_type},
                   {kPoolAttributeLocationId, id},
                   {kPoolAttributeDomain, -1}};
  }
  void import() {
    CUmemoryPool pool = nullptr;
    const auto descriptor = reinterpret_cast<void*>(std::uintptr_t{5});
    run(calls::MemPoolImportFromShareableHandle{&pool, descriptor, CU_MEM_HANDLE_TYPE_FABRIC, 0});
  }
  CUresult create(const CUmemPoolProps& props) {
    CUmemoryPool pool = nullptr;
    return run(calls::MemPoolCreate{&pool, &props});
  }
  CUmemLocation location_of(CUmemoryPool pool) {
    return session_.with_model([&](const Model& model) {
      const Pool* found = model.pools().find(pool);
      return found ? found->location : make_location(-1, 0);
    });
  }

  std::map<int, int> attributes_;  ///< none: a driver from before CUDA 13.2
};

TEST_F(PoolSession, ADefaultPoolIsKnownWithoutAsking) {
  CUmemoryPool pool = nullptr;
  EXPECT_OK(run(calls::DeviceGetDefaultMemPool{&pool, 1}));
  EXPECT_CALL(mock_, MemPoolDestroy(pool)).WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  EXPECT_CALL(mock_, DeviceGetDefaultMemPool(_, _)).Times(0);
  EXPECT_EQ(run(calls::MemPoolDestroy{pool}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings_.rules(), ElementsAre("cuMemPoolDestroy-not-default"));
}

TEST_F(PoolSession, AnImportedPoolLiesWhereTheDriverSays) {
  describe(kLocationDevice, 1);
  import();
  EXPECT_EQ(device_of(location_of(kPool)), 1);
  describe(kLocationInvisible, kDeviceInvalid);
  import();
  EXPECT_EQ(static_cast<int>(location_of(kPool).type), kLocationInvisible);
  describe(kLocationDomain, 1);
  attributes_[kPoolAttributeDomain] = 1;
  import();
  EXPECT_TRUE(same_place(location_of(kPool), domain_location(1, 1)));
  attributes_.clear();
  import();
  EXPECT_EQ(static_cast<int>(location_of(kPool).type), 0) << "an older driver says nothing";
}

TEST_F(PoolSession, ACurrentPoolThatAnotherMadeIsKnownByItsAttributes) {
  describe(kLocationDevice, 1, 1);
  CUmemoryPool pool = nullptr;
  EXPECT_OK(run(calls::DeviceGetMemPool{&pool, 1}));
  EXPECT_CALL(mock_, DeviceSetMemPool(0, kPool)).WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(run(calls::DeviceSetMemPool{0, pool}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings_.rules(), ElementsAre("cuDeviceSetMemPool-local"));
}

// On any driver: no call makes the default pool, and no call may destroy or export it.
TEST_F(PoolSession, TheCurrentPoolOfAPlaceMayBeItsDefaultOne) {
  const auto hands_out = [](CUmemoryPool* pool, CUmemLocation*, CUmemAllocationType) {
    *pool = kPool;
    return CUDA_SUCCESS;
  };
  ON_CALL(mock_, MemGetMemPool(_, _, _)).WillByDefault(hands_out);
  ON_CALL(mock_, MemGetDefaultMemPool(_, _, _)).WillByDefault(hands_out);
  ON_CALL(mock_, CtxGetCurrent(_))
      .WillByDefault(answers(reinterpret_cast<CUcontext>(std::uintptr_t{0xc0})));
  ON_CALL(mock_, MemPoolDestroy(_)).WillByDefault(Return(CUDA_ERROR_INVALID_VALUE));
  ON_CALL(mock_, MemPoolExportPointer(_, _)).WillByDefault(Return(CUDA_ERROR_INVALID_VALUE));
  ON_CALL(mock_, MemcpyDtoH(_, _, _)).WillByDefault(Return(CUDA_ERROR_INVALID_VALUE));
  ON_CALL(mock_, MemAllocFromPoolAsync(_, _, _, _)).WillByDefault(answers(0x7000'0000'0000));
  CUmemLocation node = make_location(kLocationHostNuma, 0);
  CUmemoryPool pool = nullptr;
  EXPECT_OK(run(calls::MemGetMemPool{&pool, &node, CU_MEM_ALLOCATION_TYPE_PINNED}));
  run(calls::MemPoolDestroy{pool});
  CUdeviceptr memory = 0;
  run(calls::MemAllocFromPoolAsync{&memory, 4096, pool, nullptr});
  CUmemPoolPtrExportData data{};
  run(calls::MemPoolExportPointer{&data, memory});
  char byte = 0;
  run(calls::MemcpyDtoH{&byte, memory, 1});
  EXPECT_THAT(findings_.rules(),
              ElementsAre("cuMemPoolDestroy-not-default", "cuMemPoolExportPointer-pool-shareable",
                          "data-pool-on-host"));
}

TEST_F(PoolSession, OfAnOlderDriverACurrentPoolIsNobodysMistake) {
  CUmemoryPool pool = nullptr;
  EXPECT_OK(run(calls::DeviceGetMemPool{&pool, 1}));
  EXPECT_OK(run(calls::MemPoolTrimTo{pool, 0}));
  cuuint64_t value = 0;
  EXPECT_OK(run(calls::MemPoolSetAttribute{pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value}));
  EXPECT_THAT(findings_.rules(), IsEmpty());
}

// A fuzzer found this: the driver refuses the wrong place, and cuvmm reported that the pool is no
// pool.
TEST_F(PoolSession, APoolThatAnOlderDriverHandedOutIsAPool) {
  ON_CALL(mock_, MemGetMemPool(_, _, _)).WillByDefault(answers(kPool));
  ON_CALL(mock_, MemSetMemPool(_, _, _)).WillByDefault(Return(CUDA_ERROR_INVALID_VALUE));
  CUmemLocation host = make_location(kLocationHost, 0), device = make_location(kLocationDevice, 0);
  CUmemoryPool pool = nullptr;
  EXPECT_OK(run(calls::MemGetMemPool{&pool, &host, CU_MEM_ALLOCATION_TYPE_PINNED}));
  EXPECT_EQ(run(calls::MemSetMemPool{&device, CU_MEM_ALLOCATION_TYPE_PINNED, pool}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings_.rules(), IsEmpty());
  const auto other = reinterpret_cast<CUmemoryPool>(std::uintptr_t{0x999});
  EXPECT_EQ(run(calls::MemSetMemPool{&device, CU_MEM_ALLOCATION_TYPE_PINNED, other}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings_.rules(), ElementsAre("cuMemSetMemPool-pool-valid"));
}

TEST_F(PoolSession, AValueThatIsNotKnownIsNoPoolToAskAbout) {
  EXPECT_CALL(mock_, MemPoolGetAttribute(_, _, _)).Times(0);
  EXPECT_CALL(mock_, MemPoolTrimTo(_, _)).WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(run(calls::MemPoolTrimTo{reinterpret_cast<CUmemoryPool>(0x999), 0}),
            CUDA_ERROR_INVALID_VALUE);
}

// The legal calls that once had findings: usage 0x4, location type 6, the RDMA byte, pools of
// managed memory without a location.
TEST_F(PoolSession, LegalCallsOfNewerVersionsHaveNoFindings) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = domain_location(1, 1);
  reinterpret_cast<unsigned char*>(&props)[34] = 1;  // gpuDirectRDMACapable
  EXPECT_OK(create(props));
  props = {};
  props.allocType = kManagedMemory;
  EXPECT_OK(create(props));
  ON_CALL(mock_, MemGetAllocationGranularity(_, _, _)).WillByDefault(answers(2 << 20));
  ON_CALL(mock_, MemCreate(_, _, _, _)).WillByDefault(answers(0x100));
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = domain_location(0, 1);
  prop.allocFlags.gpuDirectRDMACapable = 1;
  prop.allocFlags.usage = kUsageRdmaOverPcie;
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_OK(run(calls::MemCreate{&handle, 2 << 20, &prop, 0}));
  CUmemoryPool pool = nullptr;
  CUmemLocation place = domain_location(0, 1);
  EXPECT_OK(run(calls::MemGetDefaultMemPool{&pool, &place, CU_MEM_ALLOCATION_TYPE_PINNED}));
  EXPECT_THAT(findings_.rules(), IsEmpty());
}

TEST_F(PoolSession, AnOlderDriverDoesNotTakeThem) {
  start(13000);
  ON_CALL(mock_, MemPoolCreate(_, _)).WillByDefault(Return(CUDA_ERROR_INVALID_VALUE));
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = domain_location(1, 1);
  EXPECT_EQ(create(props), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(findings_.rules(), ElementsAre("cuMemPoolCreate-location-type"));
}

}  // namespace
}  // namespace cuvmm::shim
