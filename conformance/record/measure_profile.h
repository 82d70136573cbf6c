// SPDX-License-Identifier: Apache-2.0
// Measures the values of a profile that are not about rules: granularities, limits, attributes.
#pragma once

#include "conformance/record/record.h"
#include "rulebook/profile/profile.h"

namespace cuvmm::conformance {

/// `base` with every value replaced that the driver answers: the attributes that `base` names or
/// that have a word in the program text, the granularities, the memory of device 0, the smallest
/// unit and the largest power of two that can be reserved, the NUMA nodes that can hold memory, the
/// handle types. A value that the driver does not tell stays as in `base`. Runs in processes of its
/// own.
Profile measure_profile(const Driver& driver, const Recording& recording, const Profile& base,
                        const std::string& name);

}  // namespace cuvmm::conformance
