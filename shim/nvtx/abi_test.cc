// SPDX-License-Identifier: Apache-2.0
// Compares cuvmm's declarations of NVTX's layouts with its headers, if they are installed.
#include "shim/nvtx/abi.h"

#include <gtest/gtest.h>

#if __has_include(<nvtx3/nvToolsExtMem.h>)
#define CUVMM_HAVE_NVTX 1
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtMem.h>
#endif

namespace cuvmm::shim::nvtx {
namespace {

#ifdef CUVMM_HAVE_NVTX

static_assert(static_cast<int>(NVTX_MESSAGE_TYPE_ASCII) == static_cast<int>(kAscii));
static_assert(static_cast<int>(NVTX_MESSAGE_TYPE_UNICODE) == static_cast<int>(kUnicode));
static_assert(static_cast<int>(NVTX_MESSAGE_TYPE_REGISTERED) == static_cast<int>(kRegistered));

static_assert(sizeof(EventAttributes) == sizeof(nvtxEventAttributes_t));
static_assert(offsetof(EventAttributes, size) == offsetof(nvtxEventAttributes_t, size));
static_assert(offsetof(EventAttributes, message_type) ==
              offsetof(nvtxEventAttributes_t, messageType));
static_assert(offsetof(EventAttributes, message) == offsetof(nvtxEventAttributes_t, message));

static_assert(kMemoryModule == NVTX_EXT_MODULEID_MEM);
static_assert(kVirtualAddress == NVTX_MEM_TYPE_VIRTUAL_ADDRESS);
static_assert(kHeapRegister == NVTX3EXT_CBID_nvtxMemHeapRegister);
static_assert(kHeapUnregister == NVTX3EXT_CBID_nvtxMemHeapUnregister);
static_assert(kHeapReset == NVTX3EXT_CBID_nvtxMemHeapReset);
static_assert(kRegionsRegister == NVTX3EXT_CBID_nvtxMemRegionsRegister);
static_assert(kRegionsResize == NVTX3EXT_CBID_nvtxMemRegionsResize);
static_assert(kRegionsUnregister == NVTX3EXT_CBID_nvtxMemRegionsUnregister);
static_assert(kRegionsName == NVTX3EXT_CBID_nvtxMemRegionsName);

static_assert(sizeof(VirtualRange) == sizeof(nvtxMemVirtualRangeDesc_t));
static_assert(offsetof(VirtualRange, pointer) == offsetof(nvtxMemVirtualRangeDesc_t, ptr));

static_assert(sizeof(HeapDescription) == sizeof(nvtxMemHeapDesc_t));
static_assert(offsetof(HeapDescription, type) == offsetof(nvtxMemHeapDesc_t, type));
static_assert(offsetof(HeapDescription, range) == offsetof(nvtxMemHeapDesc_t, typeSpecificDesc));
static_assert(offsetof(HeapDescription, message) == offsetof(nvtxMemHeapDesc_t, message));

static_assert(sizeof(RegionsRegister) == sizeof(nvtxMemRegionsRegisterBatch_t));
static_assert(offsetof(RegionsRegister, elements) ==
              offsetof(nvtxMemRegionsRegisterBatch_t, regionDescElements));
static_assert(offsetof(RegionsRegister, handles) ==
              offsetof(nvtxMemRegionsRegisterBatch_t, regionHandleElementsOut));
static_assert(sizeof(RegionsResize) == sizeof(nvtxMemRegionsResizeBatch_t));
static_assert(offsetof(RegionsResize, elements) ==
              offsetof(nvtxMemRegionsResizeBatch_t, regionDescElements));
static_assert(sizeof(RegionsUnregister) == sizeof(nvtxMemRegionsUnregisterBatch_t));
static_assert(offsetof(RegionsUnregister, elements) ==
              offsetof(nvtxMemRegionsUnregisterBatch_t, refElements));
static_assert(sizeof(RegionName) == sizeof(nvtxMemRegionNameDesc_t));
static_assert(offsetof(RegionName, name) == offsetof(nvtxMemRegionNameDesc_t, name));
static_assert(sizeof(RegionsName) == sizeof(nvtxMemRegionsNameBatch_t));
static_assert(offsetof(RegionsName, elements) ==
              offsetof(nvtxMemRegionsNameBatch_t, regionElements));

TEST(NvtxAbi, IsThatOfItsHeaders) {
  // (The assertions above are checked when the test is compiled.)
}

#else

TEST(NvtxAbi, IsThatOfItsHeaders) { GTEST_SKIP() << "NVTX's headers are not here"; }

#endif

}  // namespace
}  // namespace cuvmm::shim::nvtx
