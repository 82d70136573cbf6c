// SPDX-License-Identifier: Apache-2.0
// cuIpc*: legacy inter-process handles of memory and events. A handle is a ticket: it is followed
// through the process that made it, if the kernel lets this process read that process's files.
#include <unistd.h>

#include <cstring>
#include <utility>

#include "api/location.h"
#include "api/sizes.h"
#include "emulator/base/system.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/record.h"
#include "emulator/hostile/hostile_driver.h"
#include "emulator/machine/ticket.h"
#include "emulator/share/share_entry.h"

namespace cuvmm::emulator {

namespace {

bool issued(const IpcBytes& ticket) { return ticket != IpcBytes{}; }

template <class Handle>
void put(const IpcBytes& ticket, Handle* out) {
  std::memcpy(out, ticket.data(), sizeof *out);
}

void find_memory(const Emulator& e, Address address, Facts::Ipc& ipc) {
  const PlainAllocation* plain = e.plain.at(address);
  const bool capable = plain && plain->ipc_capable();
  ipc.capable = capable ? Facts::Answer::kYes : Facts::Answer::kNo;
  if (!plain) return;
  ipc.base = plain->base;
  ipc.size = plain->size;
}

void find_opened(const Followed& followed, Facts& facts) {
  facts.ipc.token = followed.token;
  if (followed.fd < 0) return;
  facts.ipc.size = followed.ticket.size;
  if (is_device(followed.file.prop.location)) {
    facts.place.peer_device = device_of(followed.file.prop.location);
  }
}

// The memory behind another process's descriptor; the object closes the descriptor.
Physical take(const Followed& followed) {
  Physical memory(followed.fd);
  memory.describe(followed.file.size, followed.file.prop);
  return memory;
}

bool both(unsigned flags) {
  constexpr unsigned kBoth = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
  return (flags & kBoth) == kBoth;
}

}  // namespace

// --- Memory

void add_facts(const Emulator& e, const calls::IpcGetMemHandle& call, Facts& facts) {
  find_memory(e, call.dptr, facts.ipc);
}

CUresult perform(Emulator& e, const calls::IpcGetMemHandle& call, const Facts&, const Retired&) {
  auto* plain = e.plain.at(call.dptr);
  if (!call.pHandle || !plain || !plain->ipc_capable()) return CUDA_ERROR_INVALID_VALUE;
  if (!issued(plain->ticket)) {
    const int fd = plain->memory.descriptor();
    IpcBytes ticket;
    if (fd < 0 || !issue_ticket(fd, TicketKind::kIpcMemory, plain->size, 0, ticket)) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    plain->ticket = memory_handle(ticket, plain->memory.size());
  }
  put(plain->ticket, call.pHandle);
  return CUDA_SUCCESS;
}

namespace {

// Whether a piece of the handle's block is open in the current context.
bool block_is_open(const Emulator& e, const MemoryHandle& handle) {
  return e.plain.find_if([&](const PlainAllocation& plain) {
    return plain.opens != 0 && plain.context == e.current_context() &&
           MemoryHandle::of(plain.ticket).same_block(handle);
  }) != nullptr;
}

// The open memory of the handle's block that overlaps the handle's piece; null: none does.
PlainAllocation* open_piece(Emulator& e, const MemoryHandle& handle) {
  return e.plain.find_if([&](const PlainAllocation& plain) {
    if (plain.opens == 0 || plain.context != e.current_context()) return false;
    const MemoryHandle open = MemoryHandle::of(plain.ticket);
    if (!open.same_block(handle)) return false;
    const Size offset = handle.offset;
    const bool apart = offset >= open.offset ? offset - open.offset >= open.size
                                             : open.offset - offset >= handle.size;
    return !apart;
  });
}

}  // namespace

void add_facts(const Emulator& e, const calls::IpcOpenMemHandle& call, Facts& facts) {
  const MemoryHandle handle = MemoryHandle::of(ipc_bytes(call.handle));
  const Followed followed = follow_handle(handle, e.device_count());
  find_opened(followed, facts);
  // The exporter's identity comes first: an H200 gives the same answer whether the memory still
  // lives or not.
  const bool own = followed.ticket.pid == getpid();
  if (own && facts.ipc.token == Facts::Token::kEnded) facts.ipc.token = Facts::Token::kOwn;
  // A block that is open here is opened again, whatever the exporter did meanwhile (11 of 11
  // recorded), and whatever the bytes say that an H200 reads for a new block only.
  const bool unsure =
      facts.ipc.token == Facts::Token::kEnded || facts.ipc.token == Facts::Token::kForged;
  if (unsure && block_is_open(e, handle)) facts.ipc.token = Facts::Token::kValid;
  if (followed.fd >= 0) sys_close(followed.fd);
}

CUresult perform(Emulator& e, const calls::IpcOpenMemHandle& call, const Facts&, const Retired&) {
  Context* context = e.current_context();
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  if (!call.pdptr) return CUDA_ERROR_INVALID_VALUE;
  const MemoryHandle handle = MemoryHandle::of(ipc_bytes(call.handle));
  if (PlainAllocation* piece = open_piece(e, handle)) {
    const MemoryHandle open = MemoryHandle::of(piece->ticket);
    if (open.offset != handle.offset || open.size != handle.size) return CUDA_ERROR_ALREADY_MAPPED;
    ++piece->opens;
    *call.pdptr = piece->base;
    return CUDA_SUCCESS;
  }
  // The exporter may have freed or reused the memory since the check, so the handle is followed
  // anew.
  const Followed followed = follow_handle(handle, e.device_count());
  if (followed.fd < 0) return CUDA_ERROR_INVALID_VALUE;
  Physical memory = take(followed);
  if (followed.token == Facts::Token::kOwn) return CUDA_ERROR_INVALID_CONTEXT;
  // An H200 also gives out addresses after the block, which fault when they are used.
  if (handle.offset >= memory.size() || handle.size == 0) return CUDA_ERROR_INVALID_VALUE;
  const Size size = std::min<Size>(handle.size, memory.size() - handle.offset);
  hostile_driver().imported();
  PlainAllocation* opened =
      e.adopt(context, size, std::move(memory), ipc_bytes(call.handle), handle.offset);
  if (!opened) return CUDA_ERROR_OUT_OF_MEMORY;
  opened->opens = 1;
  *call.pdptr = opened->base;
  return CUDA_SUCCESS;
}

// Records a block that is opened again under the handle that first opened it.
void record(Emulator& e, const calls::IpcOpenMemHandle& call, const Facts& facts) {
  calls::IpcOpenMemHandle first = call;
  put(e.plain.find(*call.pdptr)->ticket, &first.handle);
  record_in_model(e, first, facts);
}

void add_facts(const Emulator& e, const calls::IpcCloseMemHandle& call, Facts& facts) {
  find_memory(e, call.dptr, facts.ipc);
}

CUresult perform(Emulator& e, const calls::IpcCloseMemHandle& call, const Facts&, const Retired&) {
  PlainAllocation* found = e.plain.find(call.dptr);
  if (!found || found->opens == 0) return CUDA_ERROR_INVALID_VALUE;
  if (--found->opens == 0) e.plain.end(call.dptr);
  return CUDA_SUCCESS;
}

// --- Events. Work completes inside the call that submits it, in every process: an imported event
// is complete at once, and a record of it has no effect that its owner could see.

void add_facts(const Emulator& e, const calls::IpcGetEventHandle& call, Facts& facts) {
  const Event* event = const_cast<Emulator&>(e).streams.find(call.event);
  facts.ipc.event_alive = event ? Facts::Answer::kYes : Facts::Answer::kNo;
  const bool shareable = event && both(event->flags);
  facts.ipc.event_interprocess = shareable ? Facts::Answer::kYes : Facts::Answer::kNo;
}

CUresult perform(Emulator& e, const calls::IpcGetEventHandle& call, const Facts&, const Retired&) {
  Event* event = e.streams.find(call.event);
  if (!call.pHandle) return CUDA_ERROR_INVALID_VALUE;
  if (!event || !both(event->flags)) return CUDA_ERROR_INVALID_HANDLE;
  if (!event->file) {
    CUmemAllocationProp prop{};
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = event->context->device;
    const int fd = create_shareable(kPage, prop, ShareableKind::kEvent);
    if (fd < 0) return CUDA_ERROR_OUT_OF_MEMORY;
    auto file = std::make_shared<Physical>(fd);
    if (!issue_ticket(fd, TicketKind::kIpcEvent, kPage, 0, event->ticket)) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    event->file = std::move(file);
  }
  put(event->ticket, call.pHandle);
  return CUDA_SUCCESS;
}

void write_refused(const Emulator&, const calls::IpcGetEventHandle& call, CUresult refused) {
  // Observed for an event of the wrong kind (cuIpcGetEventHandle/event-flags), not for NULL.
  if (refused == CUDA_ERROR_INVALID_HANDLE && call.event && call.pHandle)
    std::memset(call.pHandle, 0, sizeof *call.pHandle);
}

void add_facts(const Emulator& e, const calls::IpcOpenEventHandle& call, Facts& facts) {
  const Followed followed =
      follow_ticket(ipc_bytes(call.handle), TicketKind::kIpcEvent, e.device_count());
  find_opened(followed, facts);
  if (followed.fd >= 0) sys_close(followed.fd);
}

CUresult perform(Emulator& e, const calls::IpcOpenEventHandle& call, const Facts& facts,
                 const Retired&) {
  Context* context = e.current_context();
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  if (!call.phEvent) return CUDA_ERROR_INVALID_VALUE;
  // An event that has ended is accepted as an event: its work is done, and its kind is not checked.
  const bool ended =
      facts.ipc.token == Facts::Token::kEnded || facts.ipc.token == Facts::Token::kExporterEnded;
  if (facts.ipc.token != Facts::Token::kValid && !ended) return CUDA_ERROR_INVALID_HANDLE;
  *call.phEvent = e.streams.create_event(context, CU_EVENT_DISABLE_TIMING);
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
