// SPDX-License-Identifier: Apache-2.0
// How code is loaded into a context.
#pragma once

#include <memory>

#include "emulator/core/emulator.h"

namespace cuvmm::emulator {

/// Loads `image` into a context, and gives its variables memory there.
CUresult load(Emulator& e, Context& context, std::shared_ptr<Image> image, Module*& loaded);
/// The module of a library in a context, which is loaded now where it was not loaded yet.
CUresult in_context(Emulator& e, Context& context, CUlibrary library, Module*& module);

}  // namespace cuvmm::emulator
