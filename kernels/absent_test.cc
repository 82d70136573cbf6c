// SPDX-License-Identifier: Apache-2.0
// The functions of a build without kernels (CUVMM_KERNELS=OFF), as the emulator calls them.
#include <gtest/gtest.h>

#include "kernels/kernels.h"
#include "kernels/testing_code.h"

namespace cuvmm::kernels {
namespace {

class NoMemory : public Memory {
 public:
  std::string why_not(std::uint64_t, unsigned, bool) override { return "nothing is there"; }

 private:
  Window find(std::uint64_t) override { return {}; }
};

TEST(AbsentTest, SaysSo) { EXPECT_FALSE(present()); }

TEST(AbsentTest, ReadsNoImage) {
  const std::string cubin = testing::Cubin{}.bytes(), text = testing::kPtx;
  for (const std::string& image : {cubin, text}) {
    DeviceCode code;
    EXPECT_EQ(read_device_code({image.data(), image.size()}, {9, 0}, code),
              CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(code.error, "this build has no kernels");
    EXPECT_EQ(code.kernel("add"), nullptr);
    EXPECT_EQ(code.variable("counter"), nullptr);
    EXPECT_FALSE(has_text(code, "add"));
  }
}

TEST(AbsentTest, DecodesAndRunsNothing) {
  const Decoded decoded = decode(DeviceCode{}, "add", {});
  EXPECT_EQ(decoded.code, nullptr);
  EXPECT_EQ(decoded.why_not, "this build has no kernels");
  NoMemory memory;
  std::vector<Fault> mistakes;
  EXPECT_EQ(run(Code{}, Shape{}, {}, memory, 1, {}, mistakes).code, CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_TRUE(mistakes.empty());
}

}  // namespace
}  // namespace cuvmm::kernels
