// SPDX-License-Identifier: Apache-2.0
// Bounds for the values that callers put into the model.
#pragma once

namespace cuvmm {

/// Each device ordinal is a bit of the model's access masks (AccessMask in
/// rulebook/objects/objects.h); the last two bits have another meaning.
inline constexpr int kMaxDevices = 62;

/// Devices of a machine that the emulator plays, on all its hosts: a process sees those of its own.
inline constexpr int kMaxMachineDevices = 64;

}  // namespace cuvmm
