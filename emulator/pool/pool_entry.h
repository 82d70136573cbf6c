// SPDX-License-Identifier: Apache-2.0
// What the entry points of memory pools do at each step of run_entry() (emulator/entry/entry.h).
#pragma once

#include "emulator/base/emulator.h"
#include "rulebook/check.h"

namespace cuvmm::emulator {

#define CUVMM_AREA_pool ~, CUVMM_PERFORM
#include "emulator/entry/perform.def"
#undef CUVMM_AREA_pool

void add_facts(const Emulator&, const calls::MemPoolDestroy&, Facts&);
void add_facts(const Emulator&, const calls::MemAllocFromPoolAsync&, Facts&);
void add_facts(const Emulator&, const calls::MemPoolExportToShareableHandle&, Facts&);
void add_facts(const Emulator&, const calls::MemPoolImportFromShareableHandle&, Facts&);
void add_facts(const Emulator&, const calls::MemPoolExportPointer&, Facts&);
void add_facts(const Emulator&, const calls::MemPoolImportPointer&, Facts&);
void add_facts(const Emulator&, const calls::MemPoolSetAccess&, Facts&);
void add_facts(const Emulator&, const calls::DeviceSetMemPool&, Facts&);

void write_refused(const Emulator&, const calls::MemAllocFromPoolAsync&, CUresult);
void write_refused(const Emulator&, const calls::MemPoolImportFromShareableHandle&, CUresult);
void write_refused(const Emulator&, const calls::MemPoolImportPointer&, CUresult);

}  // namespace cuvmm::emulator
