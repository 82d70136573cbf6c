// SPDX-License-Identifier: Apache-2.0
#include "shim/trace/trace_names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

namespace cuvmm::shim {
namespace {

constexpr auto kFabric = CU_MEM_HANDLE_TYPE_FABRIC;

TEST(TraceNames, AFabricHandleIsKnownByItsBytes) {
  TraceNames names;
  names.name_host(&names, 1);  // b0
  unsigned char bytes[64] = {1, 2, 3}, other[64] = {};
  EXPECT_EQ(ResultNamer{names}(calls::MemExportToShareableHandle{bytes, 0, kFabric, 0}), "b1");
  unsigned char copy[64];
  std::copy(std::begin(bytes), std::end(bytes), copy);
  CUmemGenericAllocationHandle handle = 0;
  const calls::MemImportFromShareableHandle import{&handle, copy, kFabric};
  EXPECT_TRUE(ArgumentNamer{names}(import));
  EXPECT_EQ(call_text(import, &names), "cuMemImportFromShareableHandle(b1, fabric)");
  // The same place with bytes of another process.
  std::copy(std::begin(other), std::end(other), copy);
  ArgumentNamer{names}(import);
  EXPECT_EQ(call_text(import, &names).find("b1"), std::string::npos);
}

TEST(TraceNames, ADescriptorIsItsNumber) {
  TraceNames names;
  int fd = 7;
  EXPECT_EQ(ResultNamer{names}(calls::MemExportToShareableHandle{
                &fd, 0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0}),
            "fd0");
  CUmemGenericAllocationHandle handle = 0;
  const calls::MemImportFromShareableHandle import{&handle, reinterpret_cast<void*>(7),
                                                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
  EXPECT_FALSE(ArgumentNamer{names}(import));
  EXPECT_EQ(call_text(import, &names), "cuMemImportFromShareableHandle(fd0, posix_fd)");
}

}  // namespace
}  // namespace cuvmm::shim
