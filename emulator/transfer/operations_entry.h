// SPDX-License-Identifier: Apache-2.0
// What stream memory operations, and the calls about managed memory, do at each step of run_entry()
// (emulator/entry/entry.h).
#pragma once

#include <optional>

#include "emulator/core/emulator.h"
#include "rulebook/check/check.h"

namespace cuvmm::emulator {

#define CUVMM_AREA_stream_memory ~, CUVMM_PERFORM
#define CUVMM_AREA_managed ~, CUVMM_PERFORM
#include "emulator/core/perform.def"
#undef CUVMM_AREA_stream_memory
#undef CUVMM_AREA_managed

// A stream has a context of its own.
void add_facts(const Emulator&, const calls::StreamWaitValue32&, Facts&);
void add_facts(const Emulator&, const calls::StreamWaitValue64&, Facts&);
void add_facts(const Emulator&, const calls::StreamWriteValue32&, Facts&);
void add_facts(const Emulator&, const calls::StreamWriteValue64&, Facts&);
void add_facts(const Emulator&, const calls::StreamBatchMemOp&, Facts&);

// What is not a stream.
std::optional<CUresult> quirk(const Emulator&, const calls::StreamWaitValue32&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::StreamWaitValue64&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::StreamWriteValue32&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::StreamWriteValue64&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::StreamBatchMemOp&, const Facts&);

}  // namespace cuvmm::emulator
