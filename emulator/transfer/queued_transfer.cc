// SPDX-License-Identifier: Apache-2.0
#include "emulator/transfer/queued_transfer.h"

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "emulator/core/quirks.h"
#include "emulator/core/work.h"
#include "rulebook/check/check.h"
#include "rulebook/order/host_wait.h"

namespace cuvmm::emulator {

namespace {

Place place_of(const Emulator& e, const Block& side) {
  if (side.of_array) return Place::kDevice;
  const Address at = side.base;
  if (e.host.at(at)) return Place::kPinned;
  if (const PlainAllocation* const plain = e.plain.at(at)) {
    if (plain->managed) return Place::kManaged;
    return plain->on_device() ? Place::kDevice : Place::kPinned;
  }
  if (const Mapping* const mapping = e.model.mapping_at(at)) {
    const bool host = (mapping->access.read & AccessMask::kHostBit) != 0;
    return host ? Place::kPinned : Place::kDevice;
  }
  // A device reaches pageable memory of the host only through the CPU.
  return e.space.owns(at, 1) ? Place::kDevice : Place::kPageable;
}

// Whether CU_POINTER_ATTRIBUTE_SYNC_MEMOPS was set for the memory.
bool synchronous(const Emulator& e, Address at) {
  if (const PlainAllocation* plain = e.plain.at(at)) return plain->sync_memops;
  const HostBlock* const block = e.host.at(at);
  return block && block->sync_memops;
}

/// A transfer, and the bytes that it stores until its turn.
struct Waiting {
  QueuedTransfer transfer;
  bool to_pageable = false, from_pageable = false;
  std::vector<char> staged{};

  CUresult run(Emulator& e) const;
};

Touch side(const Block& block, const Copy& copy) {
  Touch touch;
  touch.base = block.base;
  touch.width = copy.width;
  touch.pitch = block.pitch;
  touch.rows = copy.height;
  touch.slices = copy.depth;
  touch.slice_pitch = block.slice_pitch;
  return touch;
}

Touch side(const Fill& fill) {
  Touch touch;
  touch.base = fill.to.base;
  touch.width = fill.width;
  touch.pitch = fill.to.pitch;
  touch.rows = fill.height;
  return touch;
}

bool empty(const Copy& copy) { return copy.empty(); }
bool empty(const Fill& fill) { return fill.width == 0 || fill.height == 0; }

// Copies the source's bytes, so that the caller may change them.
void stage(Copy& copy, std::vector<char>& staged) {
  staged.resize(copy.width * copy.height * copy.depth);
  char* out = staged.data();
  for (Size slice = 0; slice < copy.depth; ++slice) {
    for (Size row = 0; row < copy.height; ++row) {
      const Address from = copy.from.base + slice * copy.from.slice_pitch + row * copy.from.pitch;
      std::memcpy(out, reinterpret_cast<const char*>(from), copy.width);
      out += copy.width;
    }
  }
  const auto base = reinterpret_cast<Address>(staged.data());
  copy.from = {
      .base = base, .named = base, .pitch = copy.width, .slice_pitch = copy.width * copy.height};
}

CUresult Waiting::run(Emulator& e) const {
  const Violations found =
      check_touches(e.model, transfer.entry, transfer.touched, transfer.count, transfer.facts);
  const bool refused = !found.empty() && e.profile.answer(transfer.entry, found) != CUDA_SUCCESS;
  if (const auto* fill = std::get_if<Fill>(&transfer.what)) {
    CUresult result = refused ? CUDA_ERROR_INVALID_VALUE : check_unmapped(e, side(*fill), false);
    if (result == CUDA_SUCCESS) result = execute(e, *fill);
    const bool of_host = result == CUDA_ERROR_OUT_OF_MEMORY || result == CUDA_ERROR_NOT_READY;
    return result == CUDA_SUCCESS || of_host ? result : fill_fault(e);
  }
  if (refused) return CUDA_ERROR_ILLEGAL_ADDRESS;
  const Copy& copy = std::get<Copy>(transfer.what);
  CUresult there = CUDA_SUCCESS;  // execute() checks arrays
  if (!copy.to.of_array) there = check_unmapped(e, side(copy.to, copy), to_pageable);
  if (there == CUDA_SUCCESS && !copy.from.of_array) {
    there = check_unmapped(e, side(copy.from, copy), from_pageable);
  }
  return there == CUDA_SUCCESS ? execute(e, copy) : there;
}

}  // namespace

CUresult fill_fault(const Emulator& e) {
  return answer(e, Quirk::kFillFault, true).value_or(CUDA_ERROR_ILLEGAL_ADDRESS);
}

CUresult queue(Emulator& e, CUstream stream, const QueuedTransfer& transfer, bool blocking) {
  if (std::visit([](const auto& what) { return empty(what); }, transfer.what)) return CUDA_SUCCESS;
  const auto waiting = std::make_shared<Waiting>(Waiting{.transfer = transfer});
  if (auto* copy = std::get_if<Copy>(&waiting->transfer.what)) {
    const CUresult wrong = check_sides(e, *copy);
    if (wrong != CUDA_SUCCESS) return wrong;
    const Place to = place_of(e, copy->to), from = place_of(e, copy->from);
    waiting->to_pageable = to == Place::kPageable;
    waiting->from_pageable = from == Place::kPageable;
    const HostWait wait = host_wait(TransferForm::kCopyAsync, from, to);
    blocking |= waiting->to_pageable || wait.grade == HostWait::Grade::kWaits;
    blocking |= synchronous(e, copy->to.base) || synchronous(e, copy->from.base);
    if (waiting->from_pageable && !blocking) stage(*copy, waiting->staged);
  } else {
    blocking |= synchronous(e, std::get<Fill>(waiting->transfer.what).to.base);
  }
  Work work = [waiting](Emulator& at) { return waiting->run(at); };
  return blocking ? submit_and_wait(e, stream, std::move(work))
                  : submit(e, stream, std::move(work));
}

}  // namespace cuvmm::emulator
