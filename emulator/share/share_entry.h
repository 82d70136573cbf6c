// SPDX-License-Identifier: Apache-2.0
// The steps that the entry points of legacy IPC and of other APIs' objects add to run_entry()
// (emulator/entry/entry.h).
#pragma once

#include "emulator/core/emulator.h"
#include "rulebook/check/check.h"

namespace cuvmm::emulator {

#define CUVMM_AREA_ipc ~, CUVMM_PERFORM
#define CUVMM_AREA_external_memory ~, CUVMM_PERFORM
#define CUVMM_AREA_external_semaphore ~, CUVMM_PERFORM
#include "emulator/core/perform.def"
#undef CUVMM_AREA_ipc
#undef CUVMM_AREA_external_memory
#undef CUVMM_AREA_external_semaphore

void add_facts(const Emulator&, const calls::IpcGetMemHandle&, Facts&);
void add_facts(const Emulator&, const calls::IpcOpenMemHandle&, Facts&);
void add_facts(const Emulator&, const calls::IpcCloseMemHandle&, Facts&);
void add_facts(const Emulator&, const calls::IpcGetEventHandle&, Facts&);
void add_facts(const Emulator&, const calls::IpcOpenEventHandle&, Facts&);
void add_facts(const Emulator&, const calls::ImportExternalMemory&, Facts&);
void add_facts(const Emulator&, const calls::ImportExternalSemaphore&, Facts&);

void write_refused(const Emulator&, const calls::IpcGetEventHandle&, CUresult);
void write_refused(const Emulator&, const calls::ImportExternalMemory&, CUresult);

void record(Emulator&, const calls::IpcOpenMemHandle&, const Facts&);

}  // namespace cuvmm::emulator
