// SPDX-License-Identifier: Apache-2.0
// Families as cases, so that they are run, recorded and compared as the hand-written cases are.
#pragma once

#include <string>
#include <vector>

#include "conformance/suite/case.h"
#include "conformance/suite/family.h"

namespace cuvmm::conformance {

/// The legal call and every single break. The last statement expects SUCCESS, or the code that the
/// documentation gives the rule; SUCCESS if it gives none.
std::vector<Case> single_cases(const std::vector<Family>& families);
/// Every pair of breaks. The last statement expects nothing, because either rule may answer.
std::vector<Case> pair_cases(const std::vector<Family>& families);

struct LoadedFamilies {
  std::vector<Family> families;
  std::vector<std::string> errors;  ///< "FILE:LINE:COLUMN: message"
};
/// Reads files, and all *.family in folders, in the order of their names.
LoadedFamilies load_families(const std::vector<std::string>& paths);

}  // namespace cuvmm::conformance
