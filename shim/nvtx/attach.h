// SPDX-License-Identifier: Apache-2.0
// The shim as a tool of NVTX: it puts its functions into the tables of each copy of NVTX, and hands
// on what another tool (CUVMM_NVTX_NEXT) wants to hear as well.
#pragma once

#include "shim/nvtx/abi.h"

namespace cuvmm::shim::nvtx {

using Initialize = int (*)(GetExportTable);
using InitializeExtension = int (*)(ExtensionModule*);

/// A copy of NVTX looks for its tool. `next` has filled in its functions before, or is null. 1: the
/// copy may use its tables.
int attach(GetExportTable get, Initialize next) noexcept;
/// The same for one of its extensions. 1: a tool is there, which may handle nothing of it.
int attach_extension(ExtensionModule* module, InitializeExtension next) noexcept;

}  // namespace cuvmm::shim::nvtx
