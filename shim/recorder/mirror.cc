// SPDX-License-Identifier: Apache-2.0
#include "shim/recorder/mirror.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "api/fnv1a.h"
#include "api/location.h"
#include "api/posix/cancel_off.h"
#include "shim/facts/descriptor.h"
#include "shim/stack/python/names.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

namespace {

// Equal in every process. 0 stands for no name.
std::uint64_t hash_of(std::string_view bytes) {
  if (bytes.empty()) return 0;
  const std::uint64_t hash = fnv1a(bytes);
  return hash ? hash : 1;
}

holdings::Piece piece_of(const PlainMemory& m) {
  using From = PlainMemory::Kind;
  using To = holdings::Piece::Kind;
  const To kind = m.kind == From::kManaged      ? To::kManaged
                  : m.kind == From::kHost       ? To::kHost
                  : m.kind == From::kRegistered ? To::kRegistered
                                                : To::kDevice;
  return {m.base, m.size, kind, m.device, 0, m.made, 0};
}
holdings::Piece piece_of(const PoolMemory& m) {
  const std::uint64_t left = m.pool_has_ended() && !m.imported ? 1 : 0;
  return {m.base, m.size, holdings::Piece::Kind::kPool, device_of(m.location), m.pool,
          m.made, left};
}
holdings::Piece piece_of(const IpcOpen& o) {
  const std::string_view bytes(reinterpret_cast<const char*>(o.bytes.data()), o.bytes.size());
  return {o.pointer, o.size, holdings::Piece::Kind::kIpc, o.device, hash_of(bytes), o.made, 0};
}

}  // namespace

void Mirror::choose(const std::string& folder, const std::string& driver) {
  folder_ = folder;
  driver_ = driver;
  on_ = !folder.empty();
}

// The file is made at the first change, because a shell around the program, and a child on its way
// to exec, have nothing to show.
void Mirror::start(const ProcessHistory& history) {
  const CancelOff no_cancel;
  started_ = true;
  const int saved = errno;
  path_ = recorder::file_in(folder_, recorder::Section::kHoldings);
  const int error = writer_.open(path_, driver_);
  errno = saved;
  // The process prints no error, because no user has asked for the file yet: `cuvmm map` prints
  // that the process shows no objects when a user asks.
  if (error != 0) {
    on_ = false;
    return path_.clear();
  }
  last_call_ = writer_.last_call();
  all(history);
}

void Mirror::finish() noexcept {
  if (path_.empty()) return;
  const int saved = errno;
  ::unlink(path_.c_str());
  errno = saved;
}

void Mirror::restart_in_child() noexcept {
  writer_.leave();
  last_call_ = nullptr;
  exported_.clear();
  started_ = false;
  teams_ = false;
  path_.clear();
}

// Memory ran out: the file would no longer show the model.
void Mirror::stop() noexcept {
  finish();
  restart_in_child();
  on_ = false;
}

template <class Change>
inline void Mirror::note(const ProcessHistory& history, Origin at, const Change& change) noexcept {
  try {
    if (!started_) [[unlikely]]
      start(history);
    change();
    if (last_call_) [[likely]]
      recorder::store(*last_call_, at.call);
  } catch (...) {
    stop();
  }
}

void Mirror::reserved(const ProcessHistory& history, Address base, Origin at) noexcept {
  note(history, at, [&] { reservation(history.model, base); });
}

void Mirror::created(const ProcessHistory& history, Handle handle, Origin at) noexcept {
  note(history, at, [&] { memory(history, handle); });
}

void Mirror::retained(const ProcessHistory& history, Handle handle, Origin at) noexcept {
  note(history, at, [&] { counted(history, handle); });
}

void Mirror::mapped(const ProcessHistory& history, Address base, Handle handle,
                    Origin at) noexcept {
  note(history, at, [&] {
    const Model& model = history.model;
    mapping(model, base);
    if (const Reservation* const r = model.reservation_at(base)) mapped_in(*r);
    counted(history, handle);
  });
}

void Mirror::access_changed(const ProcessHistory& history, Address base, Size size,
                            Origin at) noexcept {
  note(history, at, [&] {
    const auto& mappings = history.model.mappings();
    for (auto it = history.model.first_mapping_after(base);
         it != mappings.end() && overlap(it->second.base, it->second.size, base, size); ++it) {
      const Mapping& m = it->second;
      if (!writer_.change(m)) put(m);
      if (reaches_end(m.base, m.size, base, size)) break;
    }
  });
}

void Mirror::show(const ProcessHistory& history, const NamedByCall& named, Origin at) noexcept {
  note(history, at, [&] {
    const Model& model = history.model;
    if (named.made != 0) piece(model, named.made);
    if (named.handle != 0) memory(history, named.handle);
    if (named.size != 0 && named.range != 0) {
      bool there = false;
      for (auto it = model.first_mapping_after(named.range);
           it != model.mappings().end() &&
           (it->first < named.range || it->first - named.range < named.size);
           ++it) {
        there |= it->first == named.range;
        put(it->second);
      }
      if (!there) writer_.drop_mapping(named.range);  // a mapping that was undone
      if (const Reservation* const r = model.reservation_at(named.range)) put(*r);
    }
    if (named.fd >= 0) descriptor(history, named.fd);
  });
}

void Mirror::released(const ProcessHistory& history, const Retired& retired, Origin at) noexcept {
  note(history, at, [&] {
    if (!retired.allocations.empty()) lost(history, retired.allocations[0]);
  });
}

void Mirror::unmapped(const ProcessHistory& history, const Retired& retired, Origin at) noexcept {
  note(history, at, [&] {
    const Reservation* last = nullptr;
    for (const Mapping& m : retired.mappings) {
      writer_.drop_mapping(m.base);
      const Reservation* const r = history.model.reservation_at(m.base);
      if (r && r != last) mapped_in(*r);
      last = r;
    }
    for (const Allocation& before : retired.allocations) lost(history, before);
  });
}

void Mirror::freed(const ProcessHistory& history, const Retired& retired, Origin at) noexcept {
  note(history, at, [&] {
    if (!retired.reservations.empty()) writer_.drop_reservation(retired.reservations[0].base);
  });
}

void Mirror::lost(const ProcessHistory& history, const Allocation& before) {
  // If this was the last reference, no search is needed.
  if (before.references + before.mappings == 1) return drop_memory(before.handle);
  counted(history, before.handle);
}

[[gnu::hot]] void Mirror::counted(const ProcessHistory& history, Handle handle) {
  const Allocation* const a = history.model.allocation(handle);
  if (!a) return drop_memory(handle);
  if (!writer_.change(*a)) memory(history, handle);
}

void Mirror::mapped_in(const Reservation& r) {
  if (!writer_.change(r)) put(r);
}

void Mirror::show_again(const ProcessHistory& history, const Retired& retired, Origin at) noexcept {
  note(history, at, [&] {
    const Model& model = history.model;
    const Reservation* last = nullptr;
    for (const Mapping& m : retired.mappings) {
      mapping(model, m.base);
      const Reservation* const r = model.reservation_at(m.base);
      if (r && r != last) put(*r);
      last = r;
    }
    for (const Allocation& a : retired.allocations) memory(history, a.handle);
    for (const Reservation& r : retired.reservations) reservation(model, r.base);
    if (!retired.rare) return;
    const RarelyRetired& rare = *retired.rare;
    const auto pieces = [&](const auto& objects) {
      for (const auto& object : objects) piece(model, object.base);
    };
    pieces(rare.memory);
    pieces(rare.pool_memory);
    for (const Pool& pool : rare.pools) {
      for (const auto& [base, left] : model.pools().memory()) {
        if (left.pool == pool.handle) piece(model, base);
      }
    }
    pieces(rare.context.memory);
    pieces(rare.context.pool_memory);
    for (const IpcOpen& open : rare.ipc_opens) piece(model, open.pointer);
    for (const IpcOpen& open : rare.context.ipc_opens) piece(model, open.pointer);
  });
}

void Mirror::show_team(const ProcessHistory& history, Handle object) noexcept {
  const MulticastObject* const known = history.model.multicast(object);
  if (!known) return writer_.drop_team(object);
  holdings::Team team{object,
                      known->size,
                      known->team,
                      known->added,
                      known->bindings.size(),
                      0,
                      known->shared ? 1u : 0u,
                      known->made};
  for (const MulticastBinding& binding : known->bindings) team.bound += binding.size;
  try {
    teams_ = true;
    stack(team.made);
    writer_.put(team);
  } catch (...) {
    stop();
  }
}

void Mirror::reservation(const Model& model, Address base) {
  const Reservation* const r = model.reservation_at(base);
  if (!r || r->base != base) return writer_.drop_reservation(base);
  put(*r);
}

void Mirror::put(const Reservation& r) {
  stack(r.made);
  writer_.put(r);
}

void Mirror::put(const Mapping& m) {
  stack(m.made);
  writer_.put(m);
}

void Mirror::mapping(const Model& model, Address base) {
  const Mapping* const m = model.mapping_at(base);
  if (!m || m->base != base) return writer_.drop_mapping(base);
  put(*m);
}

[[gnu::hot]] void Mirror::drop_memory(Handle handle) {
  if (!exported_.empty()) exported_.erase(handle);
  if (teams_) [[unlikely]]
    writer_.drop_team(handle);
  writer_.drop_memory(handle);
}

[[gnu::hot]] void Mirror::memory(const ProcessHistory& history, Handle handle) {
  const Allocation* const a = history.model.allocation(handle);
  if (!a) return drop_memory(handle);
  stack(a->made);
  if (a->multicast) [[unlikely]]
    show_team(history, handle);
  holdings::MemoryHeld held{*a, 0};
  if (a->imported) {
    const auto name = history.imported.find(handle);
    if (name != history.imported.end()) held.shared = hash_of(name->second);
  } else if (!exported_.empty()) [[unlikely]] {
    const auto name = exported_.find(handle);
    if (name != exported_.end()) held.shared = name->second;
  }
  writer_.put(held);
}

void Mirror::descriptor(const ProcessHistory& history, int fd) {
  const auto found = history.model.exports().find(fd);
  if (found == history.model.exports().end()) return received(history, fd);
  const Export& exported = found->second;
  const std::uint64_t name = hash_of(memory_name(fd));
  stack(exported.made);
  writer_.put(holdings::Descriptor{exported, name, holdings::Descriptor::Kind::kExported});
  if (name == 0 || !history.model.allocation(exported.handle)) return;
  exported_[exported.handle] = name;
  memory(history, exported.handle);
}

void Mirror::received(const ProcessHistory& history, int fd) {
  const auto found = history.received.find(fd);
  if (found == history.received.end()) return writer_.drop_descriptor(fd);
  const Received& from = found->second;
  using Kind = holdings::Descriptor::Kind;
  const Kind kind = from.dma_buf ? Kind::kDmaBuf : Kind::kReceived;
  // A dma-buf is a file of its own, whichever memory lies behind it.
  const std::uint64_t name = from.dma_buf ? 0 : hash_of(memory_name(fd));
  stack(from.one.made);
  writer_.put(holdings::Descriptor{from.one, name, kind});
}

void Mirror::piece(const Model& model, std::uint64_t base) {
  holdings::Piece now;
  if (const PlainMemory* const plain = model.memory().at(base); plain && plain->base == base) {
    now = piece_of(*plain);
  } else if (const auto pool = model.pools().memory().find(base);
             pool != model.pools().memory().end()) {
    now = piece_of(pool->second);
  } else if (const IpcOpen* const open = model.ipc().open_of(base)) {
    now = piece_of(*open);
  } else {
    return writer_.drop_piece(base);
  }
  stack(now.made);
  writer_.put(now);
}

[[gnu::hot]] void Mirror::stack(const Origin& made) {
  if (writer_.knows_stack(made.stack)) return;
  static_assert(kMostPythonNames <= holdings::kPythonLines);
  writer_.note_stack(made.stack, stack_frames(made.stack), python_lines(stack_python(made.stack)),
                     stack_function(made.stack));
}

void Mirror::all(const ProcessHistory& history) {
  const Model& model = history.model;
  for (const auto& [base, r] : model.reservations()) reservation(model, base);
  for (const auto& [base, m] : model.mappings()) mapping(model, base);
  for (const auto& [handle, a] : model.allocations()) memory(history, handle);
  for (const auto& [fd, e] : model.exports()) descriptor(history, fd);
  for (const auto& [fd, r] : history.received) descriptor(history, fd);
  for (const auto& [base, m] : model.memory().all()) piece(model, base);
  for (const auto& [base, m] : model.pools().memory()) piece(model, base);
  for (const auto& [pointer, open] : model.ipc().opens()) piece(model, pointer);
}

}  // namespace cuvmm::shim
