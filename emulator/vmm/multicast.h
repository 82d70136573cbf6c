// SPDX-License-Identifier: Apache-2.0
// What other areas of the emulator ask of multicast objects.
#pragma once

#include <memory>

#include "emulator/core/emulator.h"
#include "emulator/machine/team.h"

namespace cuvmm::emulator {

/// A new handle of a multicast object, created or imported.
Handle adopt(Emulator&, std::shared_ptr<Team> team);
/// Tells the model what an imported handle turned out to be.
void record_import(Emulator&, Handle handle);
/// Unbinds what the model gave up because its memory ended.
void end_bindings(Emulator&, const Retired& retired);

}  // namespace cuvmm::emulator
