// SPDX-License-Identifier: Apache-2.0
// Refused calls that no rule explains: the argument or the state that is the likely reason, and its
// repair. Only reasons that hold whatever the driver is: an object that is NULL, a device that does
// not exist, a bit that the function does not know.
#pragma once

#include <string>

#include "api/driver/driver.h"
#include "shim/cause/refused_arguments.h"
#include "shim/queued_work/questions.h"

namespace cuvmm::shim {

/// A sentence with the reason and one with the repair; empty if no reason is likely. Asks the
/// driver; called without a lock, while the thread counts as being in a call.
std::string likely_reason(const Driver& driver, const Questions& ask, const RefusedCall& call);

}  // namespace cuvmm::shim
