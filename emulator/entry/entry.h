// SPDX-License-Identifier: Apache-2.0
// Every entry point with rules goes this way: check the call against the rules, answer as the
// profile says, perform it, record it.
#pragma once

#include "emulator/base/emulator.h"
#include "emulator/base/mutation.h"
#include "emulator/vmm/multicast.h"
#include "rulebook/check.h"

namespace cuvmm::emulator {

// What an accepted call does to the machine, one overload per entry point, in the file named for
// its area. Arguments may still be nonsense that the profile's driver accepts: each overload
// answers INVALID_VALUE rather than trust them. `retired` is what the model gave up for the call.
#define CUVMM_PERFORM(Name) \
  CUresult perform(Emulator&, const calls::Name&, const Facts&, const Retired& retired)
CUVMM_PERFORM(MemAddressReserve);
CUVMM_PERFORM(MemAddressFree);
CUVMM_PERFORM(MemCreate);
CUVMM_PERFORM(MemRelease);
CUVMM_PERFORM(MemMap);
CUVMM_PERFORM(MemUnmap);
CUVMM_PERFORM(MemSetAccess);
CUVMM_PERFORM(MemGetAccess);
CUVMM_PERFORM(MemExportToShareableHandle);
CUVMM_PERFORM(MemImportFromShareableHandle);
CUVMM_PERFORM(MemGetAllocationGranularity);
CUVMM_PERFORM(MemGetAllocationPropertiesFromHandle);
CUVMM_PERFORM(MemRetainAllocationHandle);
CUVMM_PERFORM(MemGetHandleForAddressRange);
CUVMM_PERFORM(MemFree);
CUVMM_PERFORM(MemFreeAsync);
CUVMM_PERFORM(MulticastCreate);
CUVMM_PERFORM(MulticastAddDevice);
CUVMM_PERFORM(MulticastBindMem);
CUVMM_PERFORM(MulticastBindAddr);
CUVMM_PERFORM(MulticastBindMem_v2);
CUVMM_PERFORM(MulticastBindAddr_v2);
CUVMM_PERFORM(MulticastUnbind);
CUVMM_PERFORM(MulticastGetGranularity);
CUVMM_PERFORM(IpcGetMemHandle);
CUVMM_PERFORM(IpcOpenMemHandle);
CUVMM_PERFORM(IpcCloseMemHandle);
CUVMM_PERFORM(IpcGetEventHandle);
CUVMM_PERFORM(IpcOpenEventHandle);
CUVMM_PERFORM(ImportExternalMemory);
CUVMM_PERFORM(ExternalMemoryGetMappedBuffer);
CUVMM_PERFORM(ExternalMemoryGetMappedMipmappedArray);
CUVMM_PERFORM(DestroyExternalMemory);
CUVMM_PERFORM(ImportExternalSemaphore);
CUVMM_PERFORM(SignalExternalSemaphoresAsync);
CUVMM_PERFORM(WaitExternalSemaphoresAsync);
CUVMM_PERFORM(DestroyExternalSemaphore);
CUVMM_PERFORM(MemMapArrayAsync);
CUVMM_PERFORM(MemPoolCreate);
CUVMM_PERFORM(MemPoolDestroy);
CUVMM_PERFORM(MemAllocFromPoolAsync);
CUVMM_PERFORM(MemPoolExportToShareableHandle);
CUVMM_PERFORM(MemPoolImportFromShareableHandle);
CUVMM_PERFORM(MemPoolExportPointer);
CUVMM_PERFORM(MemPoolImportPointer);
CUVMM_PERFORM(MemPoolSetAccess);
CUVMM_PERFORM(DeviceSetMemPool);
#undef CUVMM_PERFORM

// What only this entry point's check needs to know.
template <class CallStruct>
void add_facts(const Emulator&, const CallStruct&, Facts&) {}
void add_facts(const Emulator&, const calls::MemCreate&, Facts&);
void add_facts(const Emulator&, const calls::MemImportFromShareableHandle&, Facts&);
void add_facts(const Emulator&, const calls::MemMap&, Facts&);
void add_facts(const Emulator&, const calls::MemSetAccess&, Facts&);
void add_facts(const Emulator&, const calls::MulticastCreate&, Facts&);
void add_facts(const Emulator&, const calls::MulticastAddDevice&, Facts&);
void add_facts(const Emulator&, const calls::MulticastBindMem&, Facts&);
void add_facts(const Emulator&, const calls::MulticastBindAddr&, Facts&);
void add_facts(const Emulator&, const calls::MulticastBindMem_v2&, Facts&);
void add_facts(const Emulator&, const calls::MulticastBindAddr_v2&, Facts&);
void add_facts(const Emulator&, const calls::MulticastUnbind&, Facts&);

// Waits for other processes where the call does, before it takes the lock.
template <class CallStruct>
void wait_for_others(const CallStruct&) {}
void wait_for_others(const calls::MemMap&);
void wait_for_others(const calls::MulticastBindMem&);
void wait_for_others(const calls::MulticastBindAddr&);
void wait_for_others(const calls::MulticastBindMem_v2&);
void wait_for_others(const calls::MulticastBindAddr_v2&);
void add_facts(const Emulator&, const calls::IpcGetMemHandle&, Facts&);
void add_facts(const Emulator&, const calls::IpcOpenMemHandle&, Facts&);
void add_facts(const Emulator&, const calls::IpcCloseMemHandle&, Facts&);
void add_facts(const Emulator&, const calls::IpcGetEventHandle&, Facts&);
void add_facts(const Emulator&, const calls::IpcOpenEventHandle&, Facts&);
void add_facts(const Emulator&, const calls::MemPoolDestroy&, Facts&);
void add_facts(const Emulator&, const calls::MemAllocFromPoolAsync&, Facts&);
void add_facts(const Emulator&, const calls::MemPoolExportToShareableHandle&, Facts&);
void add_facts(const Emulator&, const calls::MemPoolImportFromShareableHandle&, Facts&);
void add_facts(const Emulator&, const calls::MemPoolExportPointer&, Facts&);
void add_facts(const Emulator&, const calls::MemPoolImportPointer&, Facts&);
void add_facts(const Emulator&, const calls::MemPoolSetAccess&, Facts&);
void add_facts(const Emulator&, const calls::DeviceSetMemPool&, Facts&);
void add_facts(const Emulator&, const calls::ImportExternalMemory&, Facts&);
void add_facts(const Emulator&, const calls::ImportExternalSemaphore&, Facts&);
void add_facts(const Emulator&, const calls::MemMapArrayAsync&, Facts&);

// Removes findings about addresses that the emulator knows although the model does not.
template <class CallStruct>
void forgive(const Emulator&, const CallStruct&, Violations&) {}
void forgive(const Emulator&, const calls::MemGetAccess&, Violations&);
void forgive(const Emulator&, const calls::MemFree&, Violations&);
void forgive(const Emulator&, const calls::MemGetHandleForAddressRange&, Violations&);

// What the profile's driver answers before any rule is looked at (rulebook/profile/quirk.h). Most
// calls have none.
template <class CallStruct>
std::optional<CUresult> quirk(const Emulator&, const CallStruct&, const Facts&) {
  return std::nullopt;
}
std::optional<CUresult> quirk(const Emulator&, const calls::MemCreate&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::MemFree&, const Facts&);
std::optional<CUresult> quirk(const Emulator&, const calls::MemFreeAsync&, const Facts&);
/// Of what is imported as external memory.
std::optional<CUresult> quirk(const Emulator&, const CUmemAllocationProp& external);
/// Of what a copy or fill touches; `by`: the context that performs it.
std::optional<CUresult> quirk(const Emulator&, const Touch&, const Context& by);
std::optional<CUresult> quirk(const Emulator&, const calls::MemGetHandleForAddressRange&,
                              const Facts&);
/// Bytes of its range that the call has effect on.
Size affected(const Emulator&, const calls::MemSetAccess&);

// What the recorded driver writes or changes although it refuses the call.
template <class CallStruct>
void write_refused(const Emulator&, const CallStruct&, CUresult) {}
void write_refused(const Emulator&, const calls::MemGetAccess&, CUresult);
void write_refused(const Emulator&, const calls::MemGetHandleForAddressRange&, CUresult);
void write_refused(const Emulator&, const calls::IpcGetEventHandle&, CUresult);
void write_refused(const Emulator&, const calls::MemAllocFromPoolAsync&, CUresult);
void write_refused(const Emulator&, const calls::MemPoolImportFromShareableHandle&, CUresult);
void write_refused(const Emulator&, const calls::MemPoolImportPointer&, CUresult);
void write_refused(const Emulator&, const calls::ImportExternalMemory&, CUresult);
void write_refused(Emulator&, const calls::MemSetAccess&, CUresult);

// What the model records of a call that succeeded; most calls make nothing.
template <class CallStruct>
void record_in_model(Emulator& e, const CallStruct& call, const Facts& facts) {
  ChangeOf<CallStruct> nothing_begun;
  e.model.confirm(call, facts, Origin{}, nothing_begun);
}
template <class CallStruct>
void record(Emulator& e, const CallStruct& call, const Facts& facts) {
  if constexpr (!kGivesUp<CallStruct>) record_in_model(e, call, facts);
}
void record(Emulator&, const calls::MemImportFromShareableHandle&, const Facts&);
void record(Emulator&, const calls::MemSetAccess&, const Facts&);
void record(Emulator&, const calls::IpcOpenMemHandle&, const Facts&);

/// Runs `body` under the emulator's lock, once cuInit has succeeded; no exception leaves. `entry`
/// is the entry point, where the profile may have an answer of its own for calls before cuInit.
template <class Body>
CUresult locked(Body&& body, EntryPoint entry = EntryPoint::kCount) noexcept {
  Emulator& e = Emulator::get();
  try {
    if (!ready()) {
      const CUresult answer = e.unready(entry);
      if (answer != CUDA_SUCCESS) return answer;
    }
    const std::lock_guard lock(e.mutex);
    return body(e);
  } catch (...) {
    return CUDA_ERROR_OUT_OF_MEMORY;  // the containers of the emulator throw nothing else
  }
}

/// As locked(), for calls that need a context: body(e, context).
template <class Body>
CUresult with_context(Body&& body) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    Context* context = e.current_context();
    return context ? body(e, *context) : e.no_context();
  });
}

/// As locked(), for calls that need no context, but refuse one that has ended and is still current.
template <class Body>
CUresult with_no_ended_context(Body&& body) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    const CUresult result = e.no_context();
    return result == CUDA_ERROR_CONTEXT_IS_DESTROYED ? result : body(e);
  });
}

template <class CallStruct>
CUresult run_entry(const CallStruct& call) noexcept {
  wait_for_others(call);
  return locked(
      [&](Emulator& e) -> CUresult {
        Facts facts = e.facts();
        add_facts(e, call, facts);
        if (const auto odd = quirk(e, call, facts)) return *odd;
        bool unchecked = false;  // only by a mutation
        if (Violations violations = check(e.model, call, facts); !violations.empty()) {
          forgive(e, call, violations);
          CUresult refused = e.profile.answer(CallStruct::kEntryPoint, violations);
          if (refused == CUDA_ERROR_INVALID_CONTEXT) refused = e.no_context();
          if (refused != CUDA_SUCCESS) {
            write_refused(e, call, refused);
            return refused;
          }
          unchecked = mutation().hides_one_of(violations);
        }
        Retired retired;
        // What the call gives up; what it makes is recorded once it did.
        if constexpr (kGivesUp<CallStruct>) e.model.begin(call, Origin{}, retired);
        const CUresult result = perform(e, call, facts, retired);
        if (result != CUDA_SUCCESS) {
          if constexpr (kGivesUp<CallStruct>) e.model.undo(call, Origin{}, retired);
          return unchecked ? kUnperformed : result;
        }
        // Physical memory goes with the model's last mention of it.
        if constexpr (kGivesUp<CallStruct>) e.model.confirm(call, facts, Origin{}, retired);
        end_bindings(e, retired);
        for (const Allocation& allocation : retired.allocations) e.drop_if_dead(allocation.handle);
        record(e, call, facts);
        return CUDA_SUCCESS;
      },
      CallStruct::kEntryPoint);
}

}  // namespace cuvmm::emulator
