// SPDX-License-Identifier: Apache-2.0
// Objects of the model for the ring of the last calls: those that a call ended, and those that
// live.
#pragma once

#include "ring/writer.h"
#include "rulebook/model/model.h"

namespace cuvmm::shim {

/// What the calling thread's call `at` gave up and the driver accepted.
void note_ends(const Retired& gone, Origin at) noexcept;

/// All that has an address.
void note_living(const Model& model) noexcept;

}  // namespace cuvmm::shim
