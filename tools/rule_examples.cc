#include "tools/rule_examples.h"

namespace cuvmm {

const std::span<const RuleExample> kRuleExamples;

}  // namespace cuvmm
