// SPDX-License-Identifier: Apache-2.0
// The steps that the entry points of virtual memory add to run_entry() (emulator/entry/entry.h).
#pragma once

#include <optional>

#include "emulator/core/emulator.h"
#include "rulebook/check/check.h"

namespace cuvmm::emulator {

#define CUVMM_AREA_address_range ~, CUVMM_PERFORM
#define CUVMM_AREA_allocation ~, CUVMM_PERFORM
#define CUVMM_AREA_map ~, CUVMM_PERFORM
#define CUVMM_AREA_access ~, CUVMM_PERFORM
#define CUVMM_AREA_share ~, CUVMM_PERFORM
#define CUVMM_AREA_range_handle ~, CUVMM_PERFORM
#define CUVMM_AREA_map_array ~, CUVMM_PERFORM
#include "emulator/core/perform.def"
#undef CUVMM_AREA_address_range
#undef CUVMM_AREA_allocation
#undef CUVMM_AREA_map
#undef CUVMM_AREA_access
#undef CUVMM_AREA_share
#undef CUVMM_AREA_range_handle
#undef CUVMM_AREA_map_array

void add_facts(const Emulator&, const calls::MemCreate&, Facts&);
void add_facts(const Emulator&, const calls::MemImportFromShareableHandle&, Facts&);
void add_facts(const Emulator&, const calls::MemMap&, Facts&);
void add_facts(const Emulator&, const calls::MemSetAccess&, Facts&);
void add_facts(const Emulator&, const calls::MemMapArrayAsync&, Facts&);

void wait_for_others(const calls::MemMap&);

void forgive(const Emulator&, const calls::MemGetAccess&, Violations&);
void forgive(const Emulator&, const calls::MemGetHandleForAddressRange&, Violations&);

std::optional<CUresult> quirk(const Emulator&, const calls::MemCreate&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::MemGetHandleForAddressRange&,
                              const Facts&);
/// The number of bytes of its range that the call affects.
Size affected(const Emulator&, const calls::MemSetAccess&);

void write_refused(const Emulator&, const calls::MemGetAccess&, CUresult);
void write_refused(const Emulator&, const calls::MemGetHandleForAddressRange&, CUresult);
void write_refused(Emulator&, const calls::MemSetAccess&, CUresult);

void record(Emulator&, const calls::MemImportFromShareableHandle&, const Facts&);
void record(Emulator&, const calls::MemSetAccess&, const Facts&);

}  // namespace cuvmm::emulator
