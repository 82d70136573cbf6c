// SPDX-License-Identifier: Apache-2.0
// Derives a driver profile from a recording: the driver's answer to a call that breaks each rule,
// and the order of its checks, from the families' singles and pairs.
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
  /// The questions that the recording leaves open: rules without a case, variants of one rule with
  /// different answers, orders that contradict each other. One sentence each.
  std::vector<std::string> notes;
};

/// `base` gives the values that no case measures (limits, attributes, name). Verdicts and order are
/// replaced for every rule that a family breaks. The other rules get their verdicts from the
/// hand-written `cases` that break just one rule in just one statement. If an entry point answers a
/// rule of every entry point differently than most, it gets a verdict of its own.
DerivedProfile derive_profile(const Profile& base, const std::vector<Family>& families,
                              const std::vector<Case>& cases, const Recording& recording);

}  // namespace cuvmm::conformance
