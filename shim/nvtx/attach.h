// SPDX-License-Identifier: Apache-2.0
// The shim as a tool of NVTX: it puts its functions into the tables of each copy of NVTX, and calls
// the functions of another tool (CUVMM_NVTX_NEXT) as well.
#pragma once

#include "shim/nvtx/abi.h"

namespace cuvmm::shim::nvtx {

using Initialize = int (*)(GetExportTable);
using InitializeExtension = int (*)(ExtensionModule*);

/// A copy of NVTX calls this when it looks for its tool. `next`, unless null, has filled in its
/// functions before. Returns 1: the copy may use its tables.
int attach(GetExportTable get, Initialize next) noexcept;
/// attach() for one of NVTX's extensions. Returns 1: a tool exists, which may handle none of the
/// functions.
int attach_extension(ExtensionModule* module, InitializeExtension next) noexcept;

}  // namespace cuvmm::shim::nvtx
