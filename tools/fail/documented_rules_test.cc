// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "api/documented_results/documented_results.h"
#include "rulebook/catalogue/rule.h"

namespace cuvmm {
namespace {

// documented_results() and the rules name a call's documented codes independently. The code of each
// documented rule must be in both.
TEST(Documented, AgreesWithTheRules) {
  int compared = 0;
  for (const RuleInfo& rule : rules()) {
    if (rule.basis != CodeBasis::kDocumented || rule.code == CUDA_SUCCESS) continue;
    if (rule.entry == EntryPoint::kCount || documented_results(rule.entry).empty()) continue;
    ++compared;
    EXPECT_TRUE(is_documented(rule.entry, rule.code)) << rule.id;
  }
  EXPECT_GT(compared, 20);
}

}  // namespace
}  // namespace cuvmm
