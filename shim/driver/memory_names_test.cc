// SPDX-License-Identifier: Apache-2.0
#include "shim/driver/memory_names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "api/symbols/symbols.h"

namespace cuvmm::shim {
namespace {

TEST(MemoryNames, WhateverItIsCalled) {
  for (const char* name : {"cuMemOfTomorrow",
                           "cuMemMap_v2",
                           "cuMemoryLend",
                           "cuMemcpyOfTomorrowAsync_ptsz",
                           "cuMulticastOfTomorrow",
                           "cuIpcOfTomorrow",
                           "cuLogicalEndpointCreate",
                           "cuFabricCpyBatchAsync",
                           "cuPointerSetAttribute",
                           "cuImportExternalArray",
                           "cuGraphAddExternalSemaphoresWaitNode",
                           "cuDeviceSetMemPool2",
                           "cuGraphAddMemAllocNode",
                           "cuStreamAttachMemAsync",
                           "cuStreamBatchMemOp_v2",
                           "cuStreamWriteValue32_v2",
                           "cuStreamWaitValue64_ptsz",
                           "cuCheckpointProcessLock",
                           "cuGraphicsMapResources",
                           "cuEGLStreamConsumerAcquireFrame",
                           "cuGLMapBufferObject"}) {
    EXPECT_TRUE(concerns_memory(name)) << name;
  }
  for (const char* name :
       {"cuLaunchKernel", "cuModuleLoad", "cuFuncSetSharedMemConfig", "cuCtxGetSharedMemConfig",
        "cuOccupancyAvailableDynamicSMemPerBlock", "cuLogsDumpToMemory", "cuDeviceTotalMem",
        "cuStreamSynchronize", "cuDeviceGetFabricClusterUuid", "MemMap", "cu", ""}) {
    EXPECT_FALSE(concerns_memory(name)) << name;
  }
}

TEST(MemoryNames, QuestionsChangeNothing) {
  for (const char* name :
       {"cuCheckpointProcessLock", "cuCheckpointProcessCheckpoint", "cuCheckpointProcessRestore",
        "cuCheckpointProcessUnlock", "cuGraphicsMapResources_ptsz", "cuGraphicsGLRegisterBuffer",
        "cuEGLStreamProducerPresentFrame", "cuGLUnmapBufferObject", "cuTexRefSetAddress_v2",
        "cuGraphExecExternalSemaphoresSignalNodeSetParams", "cuMemcpyHtoD", "cuMemOfTomorrow"}) {
    EXPECT_TRUE(changes_memory(name)) << name;
  }
  for (const char* name :
       {"cuCheckpointProcessGetState", "cuCheckpointProcessGetRestoreThreadId",
        "cuGraphicsResourceGetMappedPointer_v2", "cuPointerGetAttribute", "cuMemGetInfo",
        "cuMemRangeGetAttribute", "cuGraphExternalSemaphoresWaitNodeGetParams",
        "cuDeviceGraphMemTrim", "cuDeviceSetGraphMemAttribute", "cuTexRefSetAddressMode",
        "cuVDPAUGetDevice", "cuCoredumpSetAttribute", "cuProfilerStart", "cuLaunch"}) {
    EXPECT_FALSE(changes_memory(name)) << name;
  }
}

TEST(MemoryNames, WhatTheTableKnowsIsNotCounted) {
  for (const SymbolInfo& info : symbols()) {
    EXPECT_EQ(unchecked_query(info.query), std::nullopt) << info.query;
    if (info.entry == EntryPoint::kCount) continue;
    EXPECT_EQ(unchecked_symbol(info.name), std::nullopt) << info.name;
  }
  EXPECT_EQ(unchecked_symbol("cuMemcpyHtoD"), "cuMemcpyHtoD called: an ABI that is not checked");
  EXPECT_EQ(unchecked_symbol("cuMemGetInfo"), std::nullopt) << "of what is only called";
}

// A name for cuGetProcAddress is not a symbol: a driver that knows such a name returns another
// function.
TEST(MemoryNames, ASymbolThatIsAskedForIsANewName) {
  EXPECT_EQ(unchecked_query("cuMemMap_v2"),
            "cuMemMap_v2 asked for: a function about memory that is not checked");
  EXPECT_EQ(unchecked_query("cuMemFree_v2"),
            "cuMemFree_v2 asked for: a function about memory that is not checked");
  EXPECT_EQ(unchecked_query("cuLaunchKernel"), std::nullopt);
}

// The driver's present functions: some of them are about memory, and less than half.
TEST(MemoryNames, TheRuleSplitsTheDriversFunctions) {
  std::ifstream file(CUVMM_DRIVER_SYMBOLS);
  int all = 0, memory = 0;
  for (std::string line; std::getline(file, line);) {
    line.erase(std::min(line.find(' '), line.size()));
    ++all;
    memory += concerns_memory(line);
    const bool by_name = line.starts_with("cuMem") || line.starts_with("cuMulticast") ||
                         line.starts_with("cuIpc") || line.starts_with("cuLogicalEndpoint") ||
                         line.starts_with("cuFabric") || line.starts_with("cuPointer") ||
                         line.find("External") != line.npos;
    EXPECT_TRUE(concerns_memory(line) || !by_name) << line;
  }
  EXPECT_GT(all, 700);
  EXPECT_GT(memory, 200);
  EXPECT_LT(memory, all / 2);
}

}  // namespace
}  // namespace cuvmm::shim
