// SPDX-License-Identifier: Apache-2.0
// What the calls that free plain memory do at each step of run_entry() (emulator/entry/entry.h).
// Their area has the copies and fills too, which go another way
// (emulator/transfer/transfer_entry.h).
#pragma once

#include <optional>

#include "emulator/base/emulator.h"
#include "rulebook/check.h"

namespace cuvmm::emulator {

CUresult perform(Emulator&, const calls::MemFree&, const Facts&, const Retired&);
CUresult perform(Emulator&, const calls::MemFreeAsync&, const Facts&, const Retired&);

void forgive(const Emulator&, const calls::MemFree&, Violations&);

std::optional<CUresult> quirk(const Emulator&, const calls::MemFree&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::MemFreeAsync&, const Facts&);

}  // namespace cuvmm::emulator
