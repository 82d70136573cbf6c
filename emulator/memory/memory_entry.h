// SPDX-License-Identifier: Apache-2.0
// The steps that the calls about plain memory and about arrays add to run_entry()
// (emulator/entry/entry.h). The two calls that free device memory belong to the area of copies and
// fills, which has its own steps (emulator/transfer/transfer_entry.h).
#pragma once

#include <optional>

#include "emulator/core/emulator.h"
#include "rulebook/check/check.h"

namespace cuvmm::emulator {

#define CUVMM_AREA_memory ~, CUVMM_PERFORM
#define CUVMM_AREA_array ~, CUVMM_PERFORM
#define CUVMM_AREA_array_made ~, CUVMM_PERFORM
#include "emulator/core/perform.def"
#undef CUVMM_AREA_memory
#undef CUVMM_AREA_array
#undef CUVMM_AREA_array_made
CUresult perform(Emulator&, const calls::MemFree&, const Facts&, const Retired&);
CUresult perform(Emulator&, const calls::MemFreeAsync&, const Facts&, const Retired&);

void forgive(const Emulator&, const calls::MemFree&, Violations&);
void forgive(const Emulator&, const calls::MemFreeAsync&, Violations&);
void forgive(const Emulator&, const calls::MemFreeHost&, Violations&);
void forgive(const Emulator&, const calls::MemHostRegister&, Violations&);
void forgive(const Emulator&, const calls::MemHostUnregister&, Violations&);
void forgive(const Emulator&, const calls::PointerSetAttribute&, Violations&);

void add_facts(const Emulator&, const calls::MemAllocAsync&, Facts&);

void write_refused(const Emulator&, const calls::MemAlloc&, CUresult);
void write_refused(const Emulator&, const calls::MemAllocPitch&, CUresult);
void write_refused(const Emulator&, const calls::MemAllocAsync&, CUresult);
void write_refused(const Emulator&, const calls::MemGetAddressRange&, CUresult);

void record(Emulator&, const calls::ArrayCreate&, const Facts&);
void record(Emulator&, const calls::Array3DCreate&, const Facts&);
void record(Emulator&, const calls::MipmappedArrayCreate&, const Facts&);

std::optional<CUresult> quirk(const Emulator&, const calls::MemFree&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::MemFreeAsync&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::MemAllocAsync&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::MemGetAddressRange&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::StreamDestroy&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::MemAdvise&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::MemAdvise_v2&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::MemPrefetchAsync&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::MemPrefetchAsync_v2&, const Facts&);

}  // namespace cuvmm::emulator
