// SPDX-License-Identifier: Apache-2.0
// How code comes into a context.
#pragma once

#include <memory>

#include "emulator/core/emulator.h"

namespace cuvmm::emulator {

/// Puts `image` into a context, its variables into memory there.
CUresult load(Emulator& e, Context& context, std::shared_ptr<Image> image, Module*& loaded);
/// A library as it is in a context; loaded there now where it was not.
CUresult in_context(Emulator& e, Context& context, CUlibrary library, Module*& module);

}  // namespace cuvmm::emulator
