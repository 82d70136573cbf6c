// SPDX-License-Identifier: Apache-2.0
// cuIpc*: legacy inter-process handles of memory and events.
#include <algorithm>

#include "rulebook/check/check_support.h"
#include "rulebook/order/check_work.h"

namespace cuvmm {
using namespace detail;

namespace {

constexpr auto kNo = Facts::Answer::kNo;

void check_context(Collector& out, const Facts& facts, Rule rule) {
  if (facts.place.context == kNo) out.add(rule, "no context is current to the calling thread");
}

bool uniform(const IpcBytes& bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [&](unsigned char byte) { return byte == bytes[0]; });
}

// Reports memory that legacy IPC cannot name, as far as this process knows.
void check_exportable(Collector& out, const Model& model, Address dptr, const Facts& facts) {
  if (model.reservation_at(dptr) || model.mapping_at(dptr)) {
    attach_history(out.add(Rule::kIpcGetNotVmm,
                           hex_text(dptr) + " is in a reservation, not in memory from cuMemAlloc"),
                   model, dptr);
    return;
  }
  const bool unexportable = facts.ipc.capable != Facts::Answer::kYes;
  if (const IpcOpen* open = model.ipc().open_at(dptr); open && unexportable) {
    out.add(Rule::kIpcGetNotOpened, hex_text(dptr) + " is memory of another process, opened here")
        .objects.push_back(ref(*open));
    return;
  }
  if (const PoolMemory* memory = model.pools().memory_at(dptr); memory && unexportable) {
    out.add(Rule::kIpcGetNotPool, hex_text(dptr) + " is memory of a stream-ordered pool")
        .objects.push_back(
            {ObjectRef::Kind::kPoolMemory, memory->base, memory->size, memory->made, {}});
    return;
  }
  if (unexportable) {
    out.add(Rule::kIpcGetAlive, hex_text(dptr) + " is not in live memory from cuMemAlloc",
            facts.ipc.capable == kNo && model.platform().complete);
    return;
  }
  // A driver may not give the base of another device's memory.
  const PlainMemory* known = model.memory().at(dptr);
  const Address base = facts.ipc.base ? facts.ipc.base : known ? known->base : 0;
  if (base && base != dptr) {
    out.add(Rule::kIpcGetBase, hex_text(dptr) + " is " + size_text(dptr - base) +
                                   " into its allocation; the handle stands for the base, " +
                                   hex_text(base));
  }
}

// Reports one mistake in a handle's bytes. `own`: this process made the handle, as far as cuvmm
// saw.
void check_token(Collector& out, const IpcBytes& bytes, bool own, const Facts& facts) {
  using Token = Facts::Token;
  if (own || facts.ipc.token == Token::kOwn) {
    out.add(Rule::kIpcOpenOtherProcess, "the handle was made by this process");
    return;
  }
  if (uniform(bytes)) {
    out.add(Rule::kIpcOpenHandleValid,
            "all 64 bytes of the handle are " + hex_text(bytes[0]) + ": no export wrote it");
    return;
  }
  switch (facts.ipc.token) {
    case Token::kValid:
    case Token::kOwn:
      return;
    case Token::kForged:
      out.add(Rule::kIpcOpenHandleValid, "no process made this handle");
      return;
    case Token::kEnded:
      out.add(Rule::kIpcOpenAlive, "the memory of the handle was freed");
      return;
    case Token::kExporterEnded:
      out.add(Rule::kIpcOpenExporterAlive, "the process that made the handle has ended");
      return;
    case Token::kUnknown:
      // Only the driver's answer distinguishes these rules; cuvmm reports the one whose code is
      // nearest. If the bytes look like a handle, freed memory is the likely mistake.
      out.add(
          Rule::kIpcOpenAlive,
          "the handle names no memory that another process exports: it was freed, or its process "
          "has ended, or the bytes are not those that cuIpcGetMemHandle wrote, or the exporter "
          "is in another PID namespace",
          false);
      out.add(Rule::kIpcOpenExporterAlive, "the process that made the handle has ended", false);
      out.add(Rule::kIpcOpenReach, "the current device cannot access the device of the memory",
              false);
      out.add(Rule::kIpcOpenOtherProcess, "the handle was made by this process", false);
  }
}

}  // namespace

Violations check(const Model& model, const calls::IpcGetMemHandle& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  check_context(out, facts, Rule::kIpcGetContext);
  if (!call.pHandle) out.add(Rule::kIpcGetOutNonnull, "pHandle is NULL");
  if (call.dptr == 0) {
    out.add(Rule::kIpcGetPointerNonzero, "dptr is 0");
  } else {
    check_exportable(out, model, call.dptr, facts);
  }
  return out.take();
}

Violations check(const Model& model, const calls::IpcOpenMemHandle& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  check_context(out, facts, Rule::kIpcOpenContext);
  if (!call.pdptr) out.add(Rule::kIpcOpenOutNonnull, "pdptr is NULL");
  const unsigned lazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
  if (!(call.Flags & lazy)) {
    out.add(Rule::kIpcOpenFlagsLazy, "Flags is " + hex_text(call.Flags) + ", without bit 0");
  } else if (call.Flags != lazy) {
    out.add(Rule::kIpcOpenFlagsOnly, "Flags is " + hex_text(call.Flags) + ", more than bit 0");
  }
  const IpcBytes bytes = ipc_bytes(call.handle);
  const IpcExport* own = model.ipc().exported(bytes);
  const bool clean = out.empty();
  check_token(out, bytes, own != nullptr, facts);
  if (own) {
    Violations all = out.take();
    all.back().objects.push_back(ref(*own));
    return all;
  }
  for (const auto& [pointer, open] : model.ipc().opens()) {
    const bool other =
        open.context && facts.place.context_id && open.context != facts.place.context_id;
    if (open.bytes != bytes || !other || open.device != facts.place.device) continue;
    out.add(Rule::kIpcOpenOneContext,
            "another context of device " + std::to_string(facts.place.device) +
                " has opened it, as " + hex_text(pointer),
            model.platform().complete)
        .objects.push_back(ref(open));
  }
  const auto& reach = model.platform().reach;
  const auto device = static_cast<std::size_t>(facts.place.device);
  if (clean && facts.place.peer_device >= 0 && facts.place.peer_device < 64 &&
      facts.place.device >= 0 && device < reach.size() &&
      !(reach[device] >> facts.place.peer_device & 1)) {
    out.add(Rule::kIpcOpenReach,
            "device " + std::to_string(facts.place.device) + " cannot access device " +
                std::to_string(facts.place.peer_device) + ", which holds the memory");
  }
  return out.take();
}

Violations check(const Model& model, const calls::IpcCloseMemHandle& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  check_context(out, facts, Rule::kIpcCloseContext);
  if (const IpcOpen* open = model.ipc().open_of(call.dptr)) {
    if (facts.order.count != 0 && open->count == 1) {
      add_work(out, facts.order, Rule::kIpcCloseInFlight, Rule::kIpcCloseOrdered,
               "the memory opened as " + hex_text(call.dptr) + " is closed");
    }
    return out.take();
  }
  if (auto ended_object = model.tombstones().find(ObjectRef::Kind::kIpcMemory, call.dptr)) {
    out.add(Rule::kIpcClosePairing, hex_text(call.dptr) + " was closed as often as it was opened")
        .objects.push_back(*ended_object);
    return out.take();
  }
  const IpcOpen* around = model.ipc().open_at(call.dptr);
  const bool reserved = model.reservation_at(call.dptr) || model.mapping_at(call.dptr);
  const bool known = call.dptr == 0 || around || reserved ||
                     facts.ipc.capable == Facts::Answer::kYes || model.platform().complete;
  std::string what = " was not returned by any cuIpcOpenMemHandle seen in this process";
  if (around) what = " lies inside the memory opened as " + hex_text(around->pointer);
  if (reserved) what = " lies in a reservation of this process";
  Violation& v = out.add(Rule::kIpcCloseOpened, hex_text(call.dptr) + what, known);
  if (around) v.objects.push_back(ref(*around));
  return out.take();
}

Violations check(const Model&, const calls::IpcGetEventHandle& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.pHandle) out.add(Rule::kIpcEventOutNonnull, "pHandle is NULL");
  if (!call.event || facts.ipc.event_alive == kNo) {
    out.add(Rule::kIpcEventValid, call.event ? "the event does not exist" : "event is NULL");
  } else if (facts.ipc.event_interprocess != Facts::Answer::kYes) {
    out.add(Rule::kIpcEventFlags, "the event was not created with INTERPROCESS and DISABLE_TIMING",
            facts.ipc.event_interprocess == kNo);
  }
  return out.take();
}

Violations check(const Model&, const calls::IpcOpenEventHandle& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  check_context(out, facts, Rule::kIpcOpenEventContext);
  if (!call.phEvent) out.add(Rule::kIpcOpenEventOutNonnull, "phEvent is NULL");
  if (facts.ipc.token == Facts::Token::kOwn) {
    out.add(Rule::kIpcOpenEventOtherProcess, "the handle was made by this process");
  } else if (facts.ipc.token == Facts::Token::kEnded ||
             facts.ipc.token == Facts::Token::kExporterEnded) {
    out.add(Rule::kIpcOpenEventAlive, facts.ipc.token == Facts::Token::kEnded
                                          ? "the event of the handle was destroyed"
                                          : "the process that made the handle has ended");
  } else if (facts.ipc.token != Facts::Token::kValid) {
    const bool empty = uniform(ipc_bytes(call.handle));
    out.add(Rule::kIpcOpenEventValid,
            empty ? "all 64 bytes of the handle are the same: no export wrote it"
                  : "the handle does not name a live event of another process",
            empty || facts.ipc.token != Facts::Token::kUnknown);
  }
  return out.take();
}

namespace detail {

void check_free_of_opened(Collector& out, const Model& model, Address address) {
  const IpcOpen* open = model.ipc().open_of(address);
  if (!open) return;
  // Uncertain in the shim, because a context may have ended, and cuMemAlloc may have the address by
  // now.
  out.add(Rule::kIpcFreeInstead, hex_text(address) + " is memory of another process, opened here",
          model.platform().complete)
      .objects.push_back(ref(*open));
}

void check_ipc_exit(Collector& out, const Model& model) {
  for (const auto& [pointer, open] : model.ipc().opens()) {
    const std::uint32_t closes = open.opens - open.count;
    Violation& v =
        out.add(Rule::kIpcOpenLeak, hex_text(pointer) + " was opened " + times(open.opens) +
                                        " and closed " + times(closes));
    v.objects.push_back(ref(open));
    if (open.reopened.call != 0) {
      v.objects.push_back({ObjectRef::Kind::kIpcMemory, pointer, open.size, open.reopened, {}});
    }
  }
}

}  // namespace detail
}  // namespace cuvmm
