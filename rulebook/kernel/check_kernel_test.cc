// SPDX-License-Identifier: Apache-2.0
#include "rulebook/kernel/check_kernel.h"

#include <gmock/gmock.h>

#include "rulebook/testing/world.h"

namespace cuvmm {
namespace {

using ::cuvmm::testing::World;
using ::testing::HasSubstr;

KernelReport report_at(KernelReport::Kind kind, Address address) {
  KernelReport report{.kind = kind, .address = address};
  std::string_view("kernel `k`").copy(report.text, sizeof report.text - 1);
  return report;
}

TEST(CheckKernel, EachKindHasItsRule) {
  const Model model;
  for (std::uint32_t kind = 1; kind <= static_cast<std::uint32_t>(KernelReport::Kind::kMask);
       ++kind) {
    const auto found = kernel_violation(model, report_at(KernelReport::Kind{kind}, 0));
    EXPECT_STREQ(area(found.rule), "kernel") << kind;
    EXPECT_EQ(found.message, "kernel `k`");
  }
}

TEST(CheckKernel, TheMemoryIsNamedThatEndedOrThatEndsBefore) {
  World w;
  CUdeviceptr at = 0x10000;
  w.accept(calls::MemAlloc{.dptr = &at, .bytesize = 100});
  const Model& model = w.model;
  constexpr auto kOutside = KernelReport::Kind::kOutside;
  const auto behind = kernel_violation(model, report_at(kOutside, 0x10000 + 104));
  EXPECT_THAT(behind.message, HasSubstr("It lies 4 bytes behind the end of the memory"));
  ASSERT_EQ(behind.objects.size(), 1U);
  EXPECT_EQ(behind.objects[0].value, at);
  EXPECT_TRUE(kernel_violation(model, report_at(kOutside, 0x9000000)).objects.empty()) << "far off";
  const auto inside =
      kernel_violation(model, report_at(KernelReport::Kind::kUnwritten, 0x10000 + 16));
  EXPECT_THAT(inside.message, HasSubstr("It is byte 16 of the memory"));
  w.accept(calls::MemFree{.dptr = at});
  const auto freed = kernel_violation(model, report_at(kOutside, 0x10000));
  EXPECT_THAT(freed.message, HasSubstr("was freed"));
  ASSERT_EQ(freed.objects.size(), 1U);
  EXPECT_NE(freed.objects[0].ended.call, 0U);
}

}  // namespace
}  // namespace cuvmm
