// SPDX-License-Identifier: Apache-2.0
// The functions for multicast objects that other areas of the emulator call.
#pragma once

#include <memory>

#include "emulator/core/emulator.h"
#include "emulator/machine/team.h"

namespace cuvmm::emulator {

/// A new handle of a multicast object, created or imported.
Handle adopt(Emulator&, std::shared_ptr<Team> team);
/// Records in the model the properties of an imported handle.
void record_import(Emulator&, Handle handle);
/// Ends the bindings that the model gave up because their memory ended.
void end_bindings(Emulator&, const Retired& retired);

}  // namespace cuvmm::emulator
