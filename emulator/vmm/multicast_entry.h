// SPDX-License-Identifier: Apache-2.0
// The steps that the entry points of multicast add to run_entry() (emulator/entry/entry.h).
#pragma once

#include "emulator/core/emulator.h"
#include "rulebook/check/check.h"

namespace cuvmm::emulator {

#define CUVMM_AREA_multicast ~, CUVMM_PERFORM
#include "emulator/core/perform.def"
#undef CUVMM_AREA_multicast

void add_facts(const Emulator&, const calls::MulticastCreate&, Facts&);
void add_facts(const Emulator&, const calls::MulticastAddDevice&, Facts&);
void add_facts(const Emulator&, const calls::MulticastBindMem&, Facts&);
void add_facts(const Emulator&, const calls::MulticastBindAddr&, Facts&);
void add_facts(const Emulator&, const calls::MulticastBindMem_v2&, Facts&);
void add_facts(const Emulator&, const calls::MulticastBindAddr_v2&, Facts&);
void add_facts(const Emulator&, const calls::MulticastUnbind&, Facts&);

void wait_for_others(const calls::MulticastBindMem&);
void wait_for_others(const calls::MulticastBindAddr&);
void wait_for_others(const calls::MulticastBindMem_v2&);
void wait_for_others(const calls::MulticastBindAddr_v2&);

}  // namespace cuvmm::emulator
