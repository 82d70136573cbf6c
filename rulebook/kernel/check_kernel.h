// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/kernel_report.h"
#include "rulebook/base/violation.h"
#include "rulebook/model/model.h"

namespace cuvmm {

/// The rule that a kernel broke, with the memory at the address, or the memory that was there.
Violation kernel_violation(const Model& model, const KernelReport& report);

}  // namespace cuvmm
