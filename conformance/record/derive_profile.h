// SPDX-License-Identifier: Apache-2.0
// A driver profile from a recording: what the driver does with a call that breaks each rule, and in
// which order it checks, read off the families' singles and pairs.
#pragma once

#include <string>
#include <vector>

#include "conformance/record/record.h"
#include "conformance/suite/case.h"
#include "conformance/suite/family.h"
#include "rulebook/profile/profile.h"

namespace cuvmm::conformance {

struct DerivedProfile {
  Profile profile;
  /// What the recording does not settle: rules without a case, variants of one rule that got
  /// different answers, orders that contradict each other. One sentence each.
  std::vector<std::string> notes;
};

/// `base` gives what no case measures (limits, attributes, name); verdicts and order are replaced
/// for every rule that a family provokes. Rules that none does are read off the hand-written
/// `cases` that break just one rule in just one statement. A rule of every entry point gets a
/// verdict of its own where an entry point answers it otherwise than most.
DerivedProfile derive_profile(const Profile& base, const std::vector<Family>& families,
                              const std::vector<Case>& cases, const Recording& recording);

}  // namespace cuvmm::conformance
