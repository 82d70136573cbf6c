// SPDX-License-Identifier: Apache-2.0
// The steps that the entry points of logical endpoints add to run_entry() (emulator/entry/entry.h).
#pragma once

#include <optional>

#include "emulator/core/emulator.h"
#include "rulebook/check/check.h"

namespace cuvmm::emulator {

#define CUVMM_AREA_endpoint ~, CUVMM_PERFORM
#include "emulator/core/perform.def"
#undef CUVMM_AREA_endpoint

void add_facts(const Emulator&, const calls::LogicalEndpointCreate&, Facts&);
void add_facts(const Emulator&, const calls::LogicalEndpointAddDevice&, Facts&);
void add_facts(const Emulator&, const calls::LogicalEndpointBindAddr&, Facts&);
void add_facts(const Emulator&, const calls::LogicalEndpointBindMem&, Facts&);
void add_facts(const Emulator&, const calls::LogicalEndpointUnbind&, Facts&);
void add_facts(const Emulator&, const calls::LogicalEndpointImport&, Facts&);
void add_facts(const Emulator&, const calls::FabricCpyBatchAsync&, Facts&);

// A driver older than the function answers NOT_SUPPORTED. A real older driver lacks the function,
// but the emulator's exports do not depend on the profile.
// clang-format off: one line per entry point
#define CUVMM_OLDER(Name) \
  std::optional<CUresult> quirk(const Emulator&, const calls::Name&, const Facts&);
CUVMM_OLDER(LogicalEndpointIdReserve)
CUVMM_OLDER(LogicalEndpointIdRelease)
CUVMM_OLDER(LogicalEndpointCreate)
CUVMM_OLDER(LogicalEndpointAddDevice)
CUVMM_OLDER(LogicalEndpointDestroy)
CUVMM_OLDER(LogicalEndpointBindAddr)
CUVMM_OLDER(LogicalEndpointBindMem)
CUVMM_OLDER(LogicalEndpointUnbind)
CUVMM_OLDER(LogicalEndpointExport)
CUVMM_OLDER(LogicalEndpointImport)
CUVMM_OLDER(LogicalEndpointGetLimits)
CUVMM_OLDER(LogicalEndpointQuery)
CUVMM_OLDER(FabricCpyBatchAsync)
#undef CUVMM_OLDER
// clang-format on

}  // namespace cuvmm::emulator
