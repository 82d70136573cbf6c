// SPDX-License-Identifier: Apache-2.0
// Copies, fills and frees that the profile's driver refuses although the call breaks no rule
// (rulebook/profile/quirk.h).
#include "emulator/core/quirks.h"
#include "emulator/memory/memory_entry.h"
#include "emulator/transfer/transfer.h"

namespace cuvmm::emulator {

std::optional<CUresult> quirk(const Emulator& e, const Touch& touch, const Context& by) {
  // Where the call does not name memory of a device, the CPU can make the copy (recorded).
  const bool peers = touch.context || touch.peer_source;  // a peer copy names it, too
  const bool by_device = touch.fill || touch.device_only || peers;
  const PlainAllocation* pooled = by_device && touch.width != 0 ? e.plain.at(touch.base) : nullptr;
  if (pooled && pooled->pool && !pooled->on_device() && !e.pools.reaches(pooled->pool, by.device)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const PlainAllocation* plain = touch.fill && touch.width != 0 ? e.plain.at(touch.base) : nullptr;
  if (!plain || !plain->ipc_capable() || !plain->context) return std::nullopt;
  const bool reaches = plain->context->device == by.device || by.peers.contains(plain->context);
  return answer(e, Quirk::kFillElsewhere, !reaches);
}

namespace {

std::uint64_t number(CUstream stream) { return reinterpret_cast<std::uintptr_t>(stream); }

std::optional<CUresult> in_ended_context(const Emulator& e) {
  const CUresult result = e.no_context();
  if (result != CUDA_ERROR_CONTEXT_IS_DESTROYED) return std::nullopt;
  return result;
}

std::optional<CUresult> unknown_stream(const Emulator& e, CUstream stream) {
  const bool known = Streams::is_default(stream) || e.streams.find(stream) ||
                     e.model.tombstones().find(ObjectRef::Kind::kStream, number(stream));
  return known ? std::nullopt : std::optional(CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace

// Frees need a context even where the address does not.
std::optional<CUresult> quirk(const Emulator& e, const calls::MemFree&, const Facts&) {
  return in_ended_context(e);
}

std::optional<CUresult> quirk(const Emulator& e, const calls::MemFreeAsync& call, const Facts&) {
  // The driver checks the context of a default stream before the memory (recorded).
  if (Streams::is_default(call.hStream) && !e.current_context()) return e.no_context();
  if (const auto ended = in_ended_context(e)) return ended;
  // The driver also checks first whether the handle ever was a stream.
  return unknown_stream(e, call.hStream);
}

std::optional<CUresult> quirk(const Emulator& e, const calls::MemAllocAsync& call, const Facts&) {
  if (const auto ended = in_ended_context(e)) return ended;
  const bool named = !Streams::is_default(call.hStream);
  if (named && !e.streams.find(call.hStream) && !e.current_context()) return e.no_context();
  return std::nullopt;
}

std::optional<CUresult> quirk(const Emulator& e, const calls::MemGetAddressRange&, const Facts&) {
  return in_ended_context(e);
}

std::optional<CUresult> quirk(const Emulator& e, const calls::StreamDestroy&, const Facts&) {
  return in_ended_context(e);
}

namespace {

// The recorded driver clears the call's out-parameters before it checks the call.
template <class Out>
void clear(Out* out, CUresult refused) {
  const bool looked_at =
      refused != CUDA_ERROR_NOT_INITIALIZED && refused != CUDA_ERROR_DEINITIALIZED;
  if (out && looked_at) *out = 0;
}

}  // namespace

void write_refused(const Emulator&, const calls::MemAlloc& call, CUresult refused) {
  clear(call.dptr, refused);
}

void write_refused(const Emulator&, const calls::MemAllocPitch& call, CUresult refused) {
  clear(call.dptr, refused);
  clear(call.pPitch, refused);
}

void write_refused(const Emulator&, const calls::MemAllocAsync& call, CUresult refused) {
  clear(call.dptr, refused);
}

// The driver also writes zeroes with NOT_FOUND, the answer for memory that this device may not
// touch (observation ptr/mapped-noaccess).
void write_refused(const Emulator&, const calls::MemGetAddressRange& call, CUresult refused) {
  clear(call.base, refused);
  clear(call.size, refused);
}

}  // namespace cuvmm::emulator
