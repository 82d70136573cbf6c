// SPDX-License-Identifier: Apache-2.0
// Sends the functions of a CUDA runtime that is linked into a program or a library (nvcc's default)
// to the emulator's libcudart.
#pragma once

#include <link.h>

#include "emulator/redirect/exports.h"

namespace cuvmm::redirect {

/// The emulator's libcudart for CUDA 12 and for CUDA 13.
struct Runtimes {
  Exports of[2];
  bool present = false;
};
inline constexpr int k12 = 0, k13 = 1;

/// Writes a jump at each function of the runtime's in `object`, if the object's file has their
/// names. Repeated calls change nothing more. Complains on stderr about functions that stay.
void redirect(const link_map& object, const Runtimes& runtimes);

/// Called by a function that the emulator's libcudart lacks; returns cudaErrorNotSupported.
inline constexpr char kNotSupported[] = "cuvmmRuntimeNotSupported";

}  // namespace cuvmm::redirect
