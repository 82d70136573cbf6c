// SPDX-License-Identifier: Apache-2.0
// Every entry point with rules is run by run_entry(): it checks the call against the rules, answers
// as the profile says, performs the call and records it. An entry point adds to a step by an
// overload in its area's header; this file has the steps, and the defaults of most entry points,
// which do nothing.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "api/area.h"
#include "emulator/context/left_context.h"
#include "emulator/core/locked.h"
#include "emulator/core/mistake.h"
#include "emulator/core/quirks.h"
#include "emulator/core/record.h"
#include "emulator/endpoint/endpoint_entry.h"
#include "emulator/hostile/hostile_driver.h"
#include "emulator/memory/memory_entry.h"
#include "emulator/pool/pool_entry.h"
#include "emulator/share/share_entry.h"
#include "emulator/transfer/operations_entry.h"
#include "emulator/vmm/multicast.h"
#include "emulator/vmm/multicast_entry.h"
#include "emulator/vmm/vmm_entry.h"
#include "rulebook/check/check.h"

namespace cuvmm::emulator {

// Waits for other processes where the call does, before it takes the lock.
template <class CallStruct>
void wait_for_others(const CallStruct&) {}

// Adds the facts that only this entry point's check needs.
template <class CallStruct>
void add_facts(const Emulator&, const CallStruct&, Facts&) {}

// The answer of the profile's driver that comes before any rule (rulebook/profile/quirk.h).
template <class CallStruct>
std::optional<CUresult> quirk(const Emulator&, const CallStruct&, const Facts&) {
  return std::nullopt;
}

// Whether the call belongs to virtual memory management, or needs it.
template <class CallStruct>
constexpr bool is_virtual_memory() {
  constexpr std::string_view kAreas[] = {"access",    "address_range", "allocation", "map",
                                         "map_array", "multicast",     "share"};
  return std::find(std::begin(kAreas), std::end(kAreas), area_of(CallStruct::kEntryPoint)) !=
         std::end(kAreas);
}

// Whether a driver may refuse the call at any time because memory or addresses have run out.
template <class CallStruct>
constexpr bool takes_memory() {
  constexpr EntryPoint kTake[] = {EntryPoint::kMemAddressReserve,
                                  EntryPoint::kMemCreate,
                                  EntryPoint::kMemMap,
                                  EntryPoint::kMemAlloc,
                                  EntryPoint::kMemAllocPitch,
                                  EntryPoint::kMemAllocAsync,
                                  EntryPoint::kMemAllocFromPoolAsync};
  return std::find(std::begin(kTake), std::end(kTake), CallStruct::kEntryPoint) != std::end(kTake);
}

// Removes violations that concern addresses which the emulator knows and the model does not.
template <class CallStruct>
void forgive(const Emulator&, const CallStruct&, Violations&) {}

// Writes or changes the values that the recorded driver writes or changes although it refuses the
// call.
template <class CallStruct>
void write_refused(const Emulator&, const CallStruct&, CUresult) {}

// Records in the model a call that succeeded; most calls make no object.
template <class CallStruct>
void record(Emulator& e, const CallStruct& call, const Facts& facts) {
  if constexpr (!kGivesUp<CallStruct>) record_in_model(e, call, facts);
}

// Performs a call that takes memory on a hostile driver that acts at such calls; `rest` does the
// call itself.
template <class Rest>
[[gnu::cold, gnu::noinline]] CUresult with_hostile_driver(Emulator& e, const Rest& rest) {
  if (hostile_driver().refuse()) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = rest();
  if (result == CUDA_SUCCESS) maybe_leave_context(e);
  return result;
}

template <class CallStruct>
CUresult run_entry(const CallStruct& call) noexcept {
  wait_for_others(call);
  return locked(
      [&](Emulator& e) -> CUresult {
        if constexpr (is_virtual_memory<CallStruct>()) {
          // No profile of a vGPU without it was recorded; two users show it (docs/profiles.md).
          if (lacks(e, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)) {
            return CUDA_ERROR_NOT_SUPPORTED;
          }
        }
        Facts facts = e.facts();
        add_facts(e, call, facts);
        if (const auto odd = quirk(e, call, facts)) return *odd;
        Violations violations = check(e.model, call, facts);
        if (!violations.empty()) {
          forgive(e, call, violations);
          CUresult refused = e.profile.answer(CallStruct::kEntryPoint, violations);
          if (refused == CUDA_ERROR_INVALID_CONTEXT) refused = e.no_context();
          if (refused != CUDA_SUCCESS) {
            write_refused(e, call, refused);
            return refused;
          }
        }
        const auto rest = [&]() __attribute__((always_inline))->CUresult {
          Retired retired;
          // The objects that the call gives up; objects that it makes are recorded after it
          // succeeded.
          if constexpr (kGivesUp<CallStruct>) e.model.begin(call, Origin{}, retired);
          const CUresult result = mistaken(e, call, violations, perform(e, call, facts, retired));
          if (result != CUDA_SUCCESS) {
            if constexpr (kGivesUp<CallStruct>) e.model.undo(call, Origin{}, retired);
            return result;
          }
          // Physical memory ends when the model no longer refers to it.
          if constexpr (kGivesUp<CallStruct>) e.model.confirm(call, facts, Origin{}, retired);
          end_bindings(e, retired);
          for (const Allocation& allocation : retired.allocations) {
            e.drop_if_dead(allocation.handle);
          }
          record(e, call, facts);
          return CUDA_SUCCESS;
        };
        if constexpr (takes_memory<CallStruct>()) {
          if (hostile_driver().awaits_calls()) [[unlikely]]
            return with_hostile_driver(e, rest);
        }
        return rest();
      },
      CallStruct::kEntryPoint);
}

}  // namespace cuvmm::emulator
