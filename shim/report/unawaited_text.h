// SPDX-License-Identifier: Apache-2.0
// A use of memory that went well only because the emulator works at once, as a sentence.
#pragma once

#include <string>

#include "shim/queued_work/work_counts.h"

namespace cuvmm::shim {

/// Names both calls, their places, and the order that is missing; "" if there was no such use.
/// Looks up symbols, so it is for the end of a process that ends by itself.
std::string unawaited_text(const UnawaitedUse& use);

}  // namespace cuvmm::shim
