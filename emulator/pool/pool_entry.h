// SPDX-License-Identifier: Apache-2.0
// The steps that the entry points of memory pools add to run_entry() (emulator/entry/entry.h).
#pragma once

#include <optional>

#include "emulator/core/emulator.h"
#include "rulebook/check/check.h"

namespace cuvmm::emulator {

#define CUVMM_AREA_pool ~, CUVMM_PERFORM
#define CUVMM_AREA_pool_attribute ~, CUVMM_PERFORM
#define CUVMM_AREA_current_pool ~, CUVMM_PERFORM
#define CUVMM_AREA_location_info ~, CUVMM_PERFORM
#include "emulator/core/perform.def"
#undef CUVMM_AREA_pool
#undef CUVMM_AREA_pool_attribute
#undef CUVMM_AREA_current_pool
#undef CUVMM_AREA_location_info

void add_facts(const Emulator&, const calls::MemPoolDestroy&, Facts&);
void add_facts(const Emulator&, const calls::MemAllocFromPoolAsync&, Facts&);
void add_facts(const Emulator&, const calls::MemPoolExportToShareableHandle&, Facts&);
void add_facts(const Emulator&, const calls::MemPoolImportFromShareableHandle&, Facts&);
void add_facts(const Emulator&, const calls::MemPoolExportPointer&, Facts&);
void add_facts(const Emulator&, const calls::MemPoolImportPointer&, Facts&);
void add_facts(const Emulator&, const calls::MemPoolSetAccess&, Facts&);
void add_facts(const Emulator&, const calls::DeviceSetMemPool&, Facts&);
void add_facts(const Emulator&, const calls::MemPoolGetAttribute&, Facts&);
void add_facts(const Emulator&, const calls::MemPoolSetAttribute&, Facts&);
void add_facts(const Emulator&, const calls::MemPoolTrimTo&, Facts&);
void add_facts(const Emulator&, const calls::MemPoolGetAccess&, Facts&);
void add_facts(const Emulator&, const calls::MemSetMemPool&, Facts&);
void add_facts(const Emulator&, const calls::DeviceGetMemPool&, Facts&);
void add_facts(const Emulator&, const calls::MemGetMemPool&, Facts&);

std::optional<CUresult> quirk(const Emulator&, const calls::MemPoolCreate&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::MemGetDefaultMemPool&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::MemGetMemPool&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::MemSetMemPool&, const Facts&);

/// Finds whether a pool is a device's default pool.
void find_pool(const Emulator&, CUmemoryPool, Facts::Pool&);

void write_refused(const Emulator&, const calls::MemAllocFromPoolAsync&, CUresult);
void write_refused(const Emulator&, const calls::MemPoolImportFromShareableHandle&, CUresult);
void write_refused(const Emulator&, const calls::MemPoolImportPointer&, CUresult);

}  // namespace cuvmm::emulator
