// SPDX-License-Identifier: Apache-2.0
// The reference's opinion of copies and fills, and the content of memory.
#include <algorithm>

#include "fuzz/reference/reference.h"

namespace cuvmm::fuzz {

void Reference::judge_touch(Judgement& out, std::uint64_t base, std::uint64_t size, bool write,
                            bool fill, Actor actor, ByCpu by_cpu) const {
  if (size == 0) return;
  if (!cell_at(base) && !plain_.at(base)) {
    judge_end(out, base);
    return;
  }
  // Byte ranges are short here, so each granule's part is judged alone.
  for (std::uint64_t at = base, left = size; left != 0;) {
    const Cell* cell = cell_at(at);
    std::uint64_t run = std::min(left, kGranule - at % kGranule);
    if (ambiguous(at)) out.loose = true;
    if (const PlainMemory* plain = plain_.at(at)) {
      // The driver's layout decides where one object ends and another begins.
      if (at != base) out.may_refuse = true;
      run = std::min(left, plain->size - (at - plain->base));
      judge_plain(out, *plain);
      if (fill) judge_fill(out, *plain, actor);
      judge_pool_touch(out, *plain, fill, actor);
      at += run;
      left -= run;
      continue;
    }
    if (const PlainMemory* plain = plain_.at(base)) {
      const bool own =
          plain->kind == PlainMemory::Kind::kAlloc || plain->kind == PlainMemory::Kind::kPool;
      if (own) out.add(Rule::kDataInside);
      (own ? out.ended_memory : out.foreign) = true;
      return;
    }
    if (!cell || cell->mapping < 0) {
      out.add(Rule::kDataMapped);
      return;
    }
    const auto& all = mappings_[static_cast<std::size_t>(cell->mapping)].access;
    unsigned access = all[actor.device];
    const bool may_be_cpu = !fill && by_cpu != ByCpu::kNever;
    if (may_be_cpu && static_cast<int>(prop_of(*cell).location.type) != 1) {
      // If the device has any access, the driver refuses what the device may not do. Otherwise the
      // CPU makes the copy, as it does between two places on the host where the host has access
      // too, and the driver dies if the host may not do it. Source: all orders of up to three
      // settings, on an H200.
      const unsigned host = all[kPlaces - 1], needed = write ? 3 : 1;
      const bool refused = access != 0 && access < needed;
      if (!refused && (access == 0 || (host != 0 && by_cpu == ByCpu::kBetweenHosts))) {
        access = host;
        out.fatal = out.fatal || host < needed;
      }
    }
    if (const MulticastTeam* team = team_at(*cell)) judge_touch(out, *team, *cell, at, run, write);
    if (write && access != 3) out.add(Rule::kDataWritable);
    if (!write && !(access & 1)) out.add(Rule::kDataReadable);
    at += run;
    left -= run;
  }
}

void Reference::judge_end(Judgement& out, std::uint64_t address) const {
  const PlainMemory* plain = plain_.ended_at(address);
  // Only the program's own frees are sure to be an end of memory.
  const bool freed = plain && (plain->kind == PlainMemory::Kind::kAlloc ||
                               plain->kind == PlainMemory::Kind::kPool);
  const auto had_it = [&](const Range& range) {
    return address >= range.base && address - range.base < range.size;
  };
  // A reservation that ended there may have been the last use of the address.
  if (!freed || std::any_of(ranges_.begin(), ranges_.end(), had_it)) {
    out.foreign = true;
    return;
  }
  out.add(Rule::kDataAlive);
  out.ended_memory = true;
  // A shim may forget memory once the driver gives its address to other memory.
  const auto& all = plain_.all();
  out.unseen = std::any_of(all.begin() + plain_.index(*plain) + 1, all.end(),
                           [&](const PlainMemory& p) { return p.base == plain->base; });
}

Judgement Reference::judge_write(std::uint64_t base, std::uint64_t size, bool fill, Actor actor,
                                 bool from_host) const {
  Judgement out;
  judge_context(out, base, size, actor);
  if (actor.device >= 0) {
    const ByCpu by_cpu = from_host ? ByCpu::kBetweenHosts : ByCpu::kAlone;
    judge_touch(out, base, size, true, fill, actor, by_cpu);
  }
  return out;
}

void Reference::judge_context(Judgement& out, std::uint64_t base, std::uint64_t size,
                              Actor actor) const {
  if (actor.device >= 0) return;
  out.add(Rule::kDataContext);
  // Rules about memory that ends too early hold with a context and without.
  if (const PlainMemory* plain = size ? plain_.at(base) : nullptr) judge_plain(out, *plain);
}

void Reference::judge_element(Judgement& out, std::uint64_t at, unsigned bytes, Actor actor) const {
  if (actor.device < 0 || at % bytes == 0) return;
  out.add(Rule::kDataFillAligned);
  // A shim may leave out addresses that lie below or above all reservations.
  const auto below = [&](const Range& range) { return at < range.base; };
  const auto above = [&](const Range& range) { return at >= range.base + range.size; };
  out.unseen |= std::ranges::all_of(ranges_, below) || std::ranges::all_of(ranges_, above);
}

Judgement Reference::judge(const calls::MemsetD8& call, Actor actor) const {
  return judge_write(call.dstDevice, call.N, true, actor);
}
Judgement Reference::judge(const calls::MemsetD16& call, Actor actor) const {
  Judgement out = judge_write(call.dstDevice, 2 * call.N, true, actor);
  if (call.N) judge_element(out, call.dstDevice, 2, actor);
  return out;
}
Judgement Reference::judge(const calls::MemsetD32& call, Actor actor) const {
  Judgement out = judge_write(call.dstDevice, 4 * call.N, true, actor);
  if (call.N) judge_element(out, call.dstDevice, 4, actor);
  return out;
}
Judgement Reference::judge(const calls::MemcpyHtoD& call, Actor actor) const {
  return judge_write(call.dstDevice, call.ByteCount, false, actor, true);
}

Judgement Reference::judge(const calls::MemcpyDtoH& call, Actor actor) const {
  Judgement out;
  judge_context(out, call.srcDevice, call.ByteCount, actor);
  if (actor.device >= 0) judge_touch(out, call.srcDevice, call.ByteCount, false, false, actor);
  return out;
}

Judgement Reference::judge(const calls::MemcpyDtoD& call, Actor actor) const {
  const Cell* source = cell_at(call.srcDevice);
  const bool from_host =
      source && source->mapping >= 0 && static_cast<int>(prop_of(*source).location.type) != 1;
  Judgement out = judge_write(call.dstDevice, call.ByteCount, false, actor, from_host);
  judge_context(out, call.srcDevice, call.ByteCount, actor);
  if (actor.device >= 0) judge_touch(out, call.srcDevice, call.ByteCount, false, false, actor);
  return out;
}

Judgement Reference::judge(const calls::MemFree& call, Actor) const {
  Judgement out;
  out.loose = call.dptr != 0 && ambiguous(call.dptr);
  if (call.dptr == 0) {
    out.may_refuse = true;  // without an object; no document gives the answer
  } else if (cell_at(call.dptr)) {
    out.add(Rule::kMemFreeNotVmm);
  } else if (const PlainMemory* plain = plain_.live_base(call.dptr)) {
    if (plain->kind == PlainMemory::Kind::kOpened) out.add(Rule::kIpcFreeInstead);
    if (open_elsewhere(*plain)) out.add(Rule::kIpcFreedWhileOpen);
  } else {
    const PlainMemory* last = plain_.last(call.dptr);
    const bool buffer = last && last->kind == PlainMemory::Kind::kExternal;
    buffer && !plain_.at(call.dptr) ? out.add(Rule::kExtBufferFreedOnce)
                                    : judge_freed(out, call.dptr);
  }
  return out;
}

// Judges an address at which no live memory begins.
void Reference::judge_freed(Judgement& out, std::uint64_t address) const {
  using Kind = PlainMemory::Kind;
  if (const PlainMemory* around = plain_.at(address)) {
    out.add(around->kind == Kind::kOpened ? Rule::kFreeFunction : Rule::kFreeBase);
  } else {
    const auto was_freed = [&](const PlainMemory& p) {
      return p.base == address && p.kind != Kind::kExternal && p.kind != Kind::kOpened;
    };
    const auto& all = plain_.all();
    out.add(std::any_of(all.begin(), all.end(), was_freed) ? Rule::kFreeOnce : Rule::kFreeKnown);
  }
  out.fatal = true;  // the memory there may belong to another process on a real driver
}

Judgement Reference::judge(const calls::MemGetHandleForAddressRange& call, Actor actor) const {
  Judgement out;
  if (!call.handle) out.add(Rule::kRangeOutNonnull);
  if (static_cast<unsigned>(call.handleType) != 1) out.add(Rule::kRangeType);
  if (call.flags > 1) out.add(Rule::kRangeFlags);
  if (call.size == 0 || call.dptr % 4096 || call.size % 4096) {
    out.add(Rule::kRangeAligned);
    return out;
  }
  if (actor.device < 0) out.add(Quirk::kRangeContext);
  const Cell* first = cell_at(call.dptr);
  for (const Cell& cell : cells_) {
    if (cell.mapping >= 0 && meets(cell, call.dptr, call.size) && team_at(cell)) out.loose = true;
  }
  if (!first) {
    // Memory of cuMemAlloc has a dma-buf (H200: dmabuf/malloc); for other memory no document says.
    const PlainMemory* plain = plain_.at(call.dptr);
    out.loose = plain && plain->kind != PlainMemory::Kind::kExternal;
    if (out.count == 0) out.foreign = true;
    return out;
  }
  const Memory* one = nullptr;
  std::uint64_t covered = 0;
  bool host = false, compressed = false, one_place = true;
  for (const Cell& cell : cells_) {
    if (cell.mapping < 0 || !meets(cell, call.dptr, call.size)) continue;
    ++covered;
    const Mapped& m = mappings_[static_cast<std::size_t>(cell.mapping)];
    const Named& named = handles_[static_cast<std::size_t>(m.handle)];
    const Memory& memory = memories_[static_cast<std::size_t>(named.memory)];
    if (!one) one = &memory;
    host = host || static_cast<int>(memory.prop.location.type) != 1;
    compressed = compressed || memory.prop.allocFlags.compressionType != 0;
    const auto& p = one->prop;
    const auto& q = memory.prop;
    const bool same_place = p.location.type == q.location.type && p.location.id == q.location.id;
    one_place = one_place && same_place;
    if (!same_place || p.requestedHandleTypes != q.requestedHandleTypes ||
        p.allocFlags.compressionType != q.allocFlags.compressionType ||
        p.allocFlags.gpuDirectRDMACapable != q.allocFlags.gpuDirectRDMACapable) {
      if (!out.breaks(Rule::kRangeOneDevice)) out.add(Rule::kRangeOneDevice);
    }
  }
  const std::uint64_t last = call.dptr + (call.size - 1);
  if (last < call.dptr || covered != last / kGranule - call.dptr / kGranule + 1) {
    out.add(Rule::kRangeMapped);
  }
  if (call.flags == 1) out.add(Quirk::kRangePcie);
  if (host && call.flags == 0) out.add(Rule::kRangeHost);
  if (compressed && call.flags == 0) out.add(Rule::kRangeCompressed);
  if (one_place) out.add(Quirk::kRangeMixed);
  return out;
}

const char* Reference::accept(const calls::MemGetHandleForAddressRange& call) {
  const int fd = *static_cast<const int*>(call.handle);
  opened(fd);
  descriptors_.push_back({fd, -1, true});
  return fd < 0 ? "the descriptor is negative" : nullptr;
}

// --- Contents: each allocation has the list of its writes; the last write of a byte counts.

bool Reference::ambiguous(std::uint64_t address) const {
  return plain_.at(address) && cell_at(address);
}

Reference::Spot Reference::spot(std::uint64_t address) const {
  if (const PlainMemory* plain = plain_.at(address)) {
    const std::uint64_t in = address - plain->base;
    return {plain->memory, plain->offset + in, plain->size - in};
  }
  const Cell* cell = mapped_at(address);
  if (!cell) return {};
  const Mapped& m = mappings_[static_cast<std::size_t>(cell->mapping)];
  const Named& named = handles_[static_cast<std::size_t>(m.handle)];
  return {named.memory, address - m.base + m.offset, kGranule - address % kGranule};
}

void Reference::store(std::uint64_t at, const unsigned char* bytes, std::uint64_t size,
                      bool known) {
  while (size != 0) {
    const Spot here = spot(at);
    if (here.memory < 0) return;
    if (const int team = memories_[static_cast<std::size_t>(here.memory)].team; team >= 0) {
      const std::uint64_t run = std::min(size, here.run);
      store(teams_[static_cast<std::size_t>(team)], here.offset, bytes, run, known);
      at += run;
      bytes += run;
      size -= run;
      continue;
    }
    const std::uint64_t run = std::min(size, here.run);
    if (ambiguous(at)) {
      // No document says which of the two the write reaches, so both become unknown.
      known = false;
      const Mapped* m =
          mapped_at(at) ? &mappings_[static_cast<std::size_t>(mapped_at(at)->mapping)] : nullptr;
      if (m) {
        const Named& named = handles_[static_cast<std::size_t>(m->handle)];
        memories_[static_cast<std::size_t>(named.memory)].writes.push_back(
            {at - m->base, {bytes, bytes + run}, false});
      }
    }
    memories_[static_cast<std::size_t>(here.memory)].writes.push_back(
        {here.offset, {bytes, bytes + run}, known});
    at += run;
    bytes += run;
    size -= run;
  }
}

void Reference::store(std::uint64_t at, const std::vector<int>& bytes) {
  std::vector<unsigned char> values;
  for (const int byte : bytes) values.push_back(static_cast<unsigned char>(byte < 0 ? 0 : byte));
  for (std::size_t i = 0, end = 0; i < bytes.size(); i = end) {
    const bool known = bytes[i] >= 0;
    while (end < bytes.size() && (bytes[end] >= 0) == known) ++end;
    store(at + i, &values[i], end - i, known);
  }
}

int Reference::byte_at(std::uint64_t address) const {
  const Spot here = spot(address);
  if (here.memory < 0) return -1;
  if (ambiguous(address)) return -1;
  return byte_in(here.memory, here.offset);
}

int Reference::byte_in(int memory, std::uint64_t at) const {
  const auto& writes = memories_[static_cast<std::size_t>(memory)].writes;
  for (std::size_t i = writes.size(); i-- > 0;) {
    const Write& write = writes[i];
    if (at >= write.at && at - write.at < write.bytes.size()) {
      return write.known ? write.bytes[at - write.at] : -1;
    }
  }
  return -1;
}

bool Reference::knows(const calls::MemcpyDtoH& call) const {
  for (std::uint64_t i = 0; i < call.ByteCount; ++i) {
    if (byte_at(call.srcDevice + i) < 0) return false;
  }
  return true;
}

const char* Reference::fill(std::uint64_t at, unsigned value, unsigned element,
                            std::uint64_t count) {
  std::vector<unsigned char> bytes(count * element);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<unsigned char>(value >> 8 * (i % element));
  }
  store(at, bytes.data(), bytes.size(), true);
  return nullptr;
}

const char* Reference::accept(const calls::MemsetD8& call) {
  return fill(call.dstDevice, call.uc, 1, call.N);
}
const char* Reference::accept(const calls::MemsetD16& call) {
  return fill(call.dstDevice, call.us, 2, call.N);
}
const char* Reference::accept(const calls::MemsetD32& call) {
  return fill(call.dstDevice, call.ui, 4, call.N);
}

const char* Reference::accept(const calls::MemcpyHtoD& call) {
  store(call.dstDevice, static_cast<const unsigned char*>(call.srcHost), call.ByteCount, true);
  return nullptr;
}

const char* Reference::accept(const calls::MemcpyDtoH& call) {
  const auto* got = static_cast<const unsigned char*>(call.dstHost);
  for (std::uint64_t i = 0; i < call.ByteCount; ++i) {
    const int expected = byte_at(call.srcDevice + i);
    if (expected >= 0 && got[i] != expected) return "a byte is not what was written there";
  }
  return nullptr;
}

const char* Reference::accept(const calls::MemcpyDtoD& call) {
  std::vector<int> bytes(call.ByteCount);
  for (std::uint64_t i = 0; i < call.ByteCount; ++i) bytes[i] = byte_at(call.srcDevice + i);
  const auto memory_of = [&](std::uint64_t at) { return spot(at).memory; };
  const int to = memory_of(call.dstDevice);
  const int last = memory_of(call.dstDevice + (call.ByteCount ? call.ByteCount - 1 : 0));
  // Where both sides share memory, the driver chooses the order of the bytes. A multicast address
  // writes to several memories.
  bool shared = to >= 0 && memories_[static_cast<std::size_t>(to)].team >= 0;
  for (std::uint64_t i = 0; i < call.ByteCount; ++i) {
    const int from = memory_of(call.srcDevice + i);
    shared = shared || from == to || from == last;
  }
  if (shared) bytes.assign(bytes.size(), -1);
  store(call.dstDevice, bytes);
  return nullptr;
}

}  // namespace cuvmm::fuzz
