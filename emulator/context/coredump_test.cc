// SPDX-License-Identifier: Apache-2.0
// Settings of core dumps are stored, for the process and for each context.
#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

using Access = CUresult(CUcoredumpSettings, void*, size_t*);

class Coredump : public EmulatorTest {
 protected:
  static CUresult call(const char* name, CUcoredumpSettings which, void* value, size_t size) {
    return symbol<Access>(name)(which, value, &size);
  }
  static bool flag(const char* name, CUcoredumpSettings which) {
    bool value = false;
    EXPECT_OK(call(name, which, &value, sizeof value));
    return value;
  }
  static std::string text(CUcoredumpSettings which) {
    char value[1024] = "";
    EXPECT_OK(call("cuCoredumpGetAttributeGlobal", which, value, sizeof value));
    return value;
  }
};

TEST_F(Coredump, TextsAreKeptByTheirSize) {
  EXPECT_EQ(text(CU_COREDUMP_FILE).find("core.cuda."), 0u);
  char name[] = "corefile, and more";
  ASSERT_OK(call("cuCoredumpSetAttributeGlobal", CU_COREDUMP_FILE, name, 8));
  EXPECT_EQ(text(CU_COREDUMP_FILE), "corefile");
  char small[8];
  EXPECT_EQ(call("cuCoredumpGetAttributeGlobal", CU_COREDUMP_FILE, small, sizeof small),
            CUDA_ERROR_INVALID_VALUE);
  std::string longest(1024, 'x');
  EXPECT_EQ(call("cuCoredumpSetAttributeGlobal", CU_COREDUMP_FILE, longest.data(), 1024),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(call("cuCoredumpSetAttributeGlobal", CU_COREDUMP_FILE, longest.data(), 1023));
}

TEST_F(Coredump, AContextHasItsOwnValueOnceItIsSet) {
  bool yes = true;
  bool no = false;
  constexpr auto kWhich = CU_COREDUMP_LIGHTWEIGHT;
  EXPECT_FALSE(flag("cuCoredumpGetAttribute", kWhich));
  ASSERT_OK(call("cuCoredumpSetAttributeGlobal", kWhich, &yes, 1));
  EXPECT_TRUE(flag("cuCoredumpGetAttribute", kWhich));
  ASSERT_OK(call("cuCoredumpSetAttribute", kWhich, &no, 1));
  EXPECT_FALSE(flag("cuCoredumpGetAttribute", kWhich));
  EXPECT_TRUE(flag("cuCoredumpGetAttributeGlobal", kWhich));
  EXPECT_TRUE(flag("cuCoredumpGetAttributeGlobal", CU_COREDUMP_TRIGGER_HOST)) << "the default";
  EXPECT_EQ(call("cuCoredumpSetAttribute", CU_COREDUMP_PIPE, &no, 1), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(Coredump, WithoutAValueTheSizeIsTold) {
  size_t size = 0;
  auto* get = symbol<Access>("cuCoredumpGetAttributeGlobal");
  EXPECT_OK(get(CU_COREDUMP_PIPE, nullptr, &size));
  EXPECT_EQ(size, 1024u);
  EXPECT_OK(get(CU_COREDUMP_LIGHTWEIGHT, nullptr, &size));
  EXPECT_EQ(size, sizeof(bool));
  EXPECT_EQ(get(static_cast<CUcoredumpSettings>(0), nullptr, &size), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get(CU_COREDUMP_PIPE, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
