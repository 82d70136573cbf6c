// SPDX-License-Identifier: Apache-2.0
#include "fuzz/ops/description.h"

#include <gtest/gtest.h>

#include <bit>

#include "fuzz/ops/text.h"
#include "program/signature.h"

namespace cuvmm::fuzz {

using program::find_function;
using program::FunctionSignature;
namespace {

// The writer and the reader take a parameter's kind from its place.
TEST(Description, EachPartIsTheParameterAtItsPlace) {
  for (const Description& description : descriptions()) {
    const FunctionSignature* signature = find_function(description.function);
    ASSERT_NE(signature, nullptr) << description.function;
    const auto& parameters = signature->parameters;
    ASSERT_LE(description.parts.size(), parameters.size()) << description.function;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (i < description.parts.size()) {
        EXPECT_EQ(description.parts[i].parameter, parameters[i].name) << description.function;
      } else {
        EXPECT_TRUE(parameters[i].optional) << description.function << " " << parameters[i].name;
      }
    }
  }
}

TEST(Description, AnOpHasItsOwnFunctionAndIsFoundByIt) {
  for (const Description& description : descriptions()) {
    Op op;
    op.code = description.code;
    op.extra = description.extra;
    EXPECT_STREQ(describe(op).function, description.function);
    const auto found = find_descriptions(description.function);
    EXPECT_NE(std::find(found.begin(), found.end(), &describe(op)), found.end());
    if (description.extra == 0) {
      EXPECT_EQ(function_of(op.code), description.function);
    }
  }
  EXPECT_TRUE(find_descriptions("cuMemAllocAsync").empty());
}

// The text of an op has each bit that its call uses: an op that is read back equals the op, except
// for references to names that are not bound.
TEST(Description, ATextHoldsAllThatAnOpUses) {
  for (const Description& description : descriptions()) {
    for (unsigned value = 0; value < 256; ++value) {
      std::array<std::uint8_t, sizeof(Op)> bytes;
      bytes.fill(static_cast<std::uint8_t>(value * 37));
      bytes[0] = static_cast<std::uint8_t>(description.code);
      Op op = std::bit_cast<Op>(bytes);
      op.ref = op.ref2 = 0;
      if (value % 2) op.faults = 0;
      canonicalise(op);
      if (op.code == Code::kClose) continue;  // closes nothing, and is not written
      op.name = shape(op.code).makes == NameKind::kNone ? 0 : 1;
      const TextOps read = from_text(to_text({op}));
      ASSERT_EQ(read.error, "") << to_text({op});
      ASSERT_EQ(read.ops.size(), 1u);
      EXPECT_EQ(read.ops[0], op) << to_text({op});
    }
  }
}

}  // namespace
}  // namespace cuvmm::fuzz
