// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/python/site.h"

#include <gtest/gtest.h>

namespace cuvmm::shim {
namespace {

TEST(PythonSite, BindingsHandOnWhatPythonCalls) {
  for (const char* path :
       {"/usr/lib/x86_64-linux-gnu/libffi.so.8.1.2", "/x/_ctypes.cpython-311-x86_64-linux-gnu.so",
        "/x/cuda/bindings/driver.cpython-312-x86_64-linux-gnu.so", "/x/torch.libs/libffi-a1b2.so.8",
        "/x/driver.abi3.so"}) {
    EXPECT_TRUE(hands_on_from_python(path)) << path;
  }
  for (const char* path : {"", "/x/libc10_cuda.so", "/usr/bin/python3.12", "/x/libffi"}) {
    EXPECT_FALSE(hands_on_from_python(path)) << path;
  }
}

}  // namespace
}  // namespace cuvmm::shim
