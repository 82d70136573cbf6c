// Example programs by rule, taken at build time from the recorded cases (see embed_examples.cmake).
#pragma once

#include <span>

namespace cuvmm {

struct RuleExample {
  const char* rule;     ///< id
  const char* program;  ///< program text whose last statement breaks the rule
};

extern const std::span<const RuleExample> kRuleExamples;

}  // namespace cuvmm
