// SPDX-License-Identifier: Apache-2.0
// What the profile's driver refuses of copies, fills and frees though no rule is broken
// (rulebook/profile/quirk.h).
#include "emulator/base/quirks.h"
#include "emulator/memory/memory_entry.h"
#include "emulator/transfer/transfer.h"

namespace cuvmm::emulator {

std::optional<CUresult> quirk(const Emulator& e, const Touch& touch, const Context& by) {
  // Where the call does not ask for memory of a device, the CPU can make the copy (recorded).
  const bool peers = touch.context || touch.peer_source;  // a peer copy asks for it, too
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

std::optional<CUresult> in_ended_context(const Emulator& e) {
  const CUresult result = e.no_context();
  if (result != CUDA_ERROR_CONTEXT_IS_DESTROYED) return std::nullopt;
  return result;
}

}  // namespace

// Frees look for a context even where the address needs none.
std::optional<CUresult> quirk(const Emulator& e, const calls::MemFree&, const Facts&) {
  return in_ended_context(e);
}

std::optional<CUresult> quirk(const Emulator& e, const calls::MemFreeAsync& call, const Facts&) {
  // Whose memory it is comes after the context of a default stream (recorded).
  if (Streams::is_default(call.hStream) && !e.current_context()) return e.no_context();
  return in_ended_context(e);
}

}  // namespace cuvmm::emulator
