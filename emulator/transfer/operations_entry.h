// SPDX-License-Identifier: Apache-2.0
// The steps that stream memory operations, and the calls about managed memory, add to run_entry()
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

// The context is that of the stream.
void add_facts(const Emulator&, const calls::StreamWaitValue32&, Facts&);
void add_facts(const Emulator&, const calls::StreamWaitValue64&, Facts&);
void add_facts(const Emulator&, const calls::StreamWriteValue32&, Facts&);
void add_facts(const Emulator&, const calls::StreamWriteValue64&, Facts&);
void add_facts(const Emulator&, const calls::StreamBatchMemOp&, Facts&);

// The answers for handles that are no streams.
std::optional<CUresult> quirk(const Emulator&, const calls::StreamWaitValue32&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::StreamWaitValue64&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::StreamWriteValue32&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::StreamWriteValue64&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::StreamBatchMemOp&, const Facts&);

}  // namespace cuvmm::emulator
