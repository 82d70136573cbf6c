// SPDX-License-Identifier: Apache-2.0
#include "conformance/suite/family.h"

#include <gmock/gmock.h>

namespace cuvmm::conformance {
namespace {

using testing::ElementsAre;

std::vector<std::string> mistakes(std::string_view text) {
  std::vector<std::string> out;
  for (const ParseError& e : parse_families(text).errors) out.push_back(format_error(e, "f"));
  return out;
}

constexpr const char* kGood =
    "family cuMemAddressFree\n"
    "given\n"
    "  init()\n"
    "  r0 = cuMemAddressReserve(2M)\n"
    "call cuMemAddressFree(ptr=r0, size=2M)\n";

TEST(ParseFamilies, ExpandsToTheLegalCallAndItsBreaks) {
  const ParsedFamilies parsed = parse_families(std::string(kGood) +
                                               "break cuMemAddressFree-exact: size=0\n"
                                               "break cuMemAddressFree-ptr-nonnull: ptr=0\n");
  ASSERT_THAT(parsed.errors, testing::IsEmpty());
  ASSERT_EQ(parsed.families.size(), 1u);
  std::vector<std::string> names;
  for (const FamilyCase& each : singles(parsed.families[0])) names.push_back(each.name);
  EXPECT_THAT(names, ElementsAre("cuMemAddressFree/legal", "cuMemAddressFree/exact",
                                 "cuMemAddressFree/ptr-nonnull"));
  EXPECT_EQ(pairs(parsed.families[0]).size(), 1u);
}

// The expansion would leave out such a statement, and nothing else would show that.
TEST(ParseFamilies, NamesAStatementThatCannotBeMade) {
  EXPECT_THAT(mistakes("family a\n"
                       "given\n"
                       "  init()\n"
                       "  r0 = cuMemAddressReserve(2M, speed=1)\n"
                       "call cuMemAddressFree(ptr=r0, size=2M)\n"
                       "break cuMemAddressFree-exact: size=0\n"),
              ElementsAre(testing::HasSubstr("f:4:")));
  EXPECT_THAT(
      mistakes(std::string(kGood) + "break cuMemAddressFree-unmapped: before cuMemUnmap(r1, 2M)\n"
                                    "break cuMemAddressFree-exact: size=0\n"),
      ElementsAre(testing::AllOf(testing::HasSubstr("f:6:"), testing::HasSubstr("r1"))));
}

TEST(ParseFamilies, NamesTheBreakWhoseArgumentsDoNotFit) {
  EXPECT_THAT(mistakes(std::string(kGood) + "break cuMemAddressFree-exact: size=0\n"
                                            "break cuMemAddressFree-ptr-nonnull: pointer=0\n"),
              ElementsAre(testing::HasSubstr("f:7:")));
  EXPECT_THAT(mistakes(std::string(kGood) +
                       "break cuMemAddressFree-exact: instead cuMemAddressFree(r0, 2M, 3)\n"),
              ElementsAre(testing::HasSubstr("f:6:")));
}

}  // namespace
}  // namespace cuvmm::conformance
