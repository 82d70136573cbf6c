// SPDX-License-Identifier: Apache-2.0
// The reference's opinion of fabric copies: the rules fabric-copy-*, and the content of memory
// after them.
#include <algorithm>

#include "fuzz/reference/reference.h"

namespace cuvmm::fuzz {

namespace {

using Copy = CUDA_FABRIC_COPY_BATCH_OP;

unsigned type_of(const CUfabricCpyOperand& side) { return static_cast<unsigned>(side.type); }
bool is_endpoint(const CUfabricCpyOperand& side) { return type_of(side) == kByEndpoint; }

// Whether two sides of copies share bytes, by their addresses and offsets.
bool meet(const CUfabricCpyOperand& a, std::uint64_t a_size, const CUfabricCpyOperand& b,
          std::uint64_t b_size) {
  if (is_endpoint(a) != is_endpoint(b) || a_size == 0 || b_size == 0) return false;
  if (is_endpoint(a) && a.op.le.id != b.op.le.id) return false;
  const std::uint64_t x = is_endpoint(a) ? a.op.le.offset : a.op.ptr.ptr;
  const std::uint64_t y = is_endpoint(b) ? b.op.le.offset : b.op.ptr.ptr;
  return x < y ? y - x < a_size : x - y < b_size;
}

}  // namespace

void Reference::judge_fabric_endpoint(Judgement& out, const Copy& op, bool write,
                                      Actor actor) const {
  const auto& side = (write ? op.dst : op.src).op.le;
  const Endpoint* endpoint = judge_endpoint(out, side.id);
  if (!endpoint) return;
  const EndpointState::Object& object = object_of(*endpoint);
  if (!write && object.team) out.add(Rule::kFcSourceUnicast);
  if (!endpoint->ready) {
    out.add(Rule::kFcEndpointReady);
    if (endpoints_.ready_by_any(endpoint->object)) out.loose = true;
  }
  if (!inside(side.offset, op.size, object.size)) out.add(Rule::kFcEndpointInside);
  if (object.vague) out.loose = true;
  if (!object.team && object.owner == actor.device && !machine_.owner_endpoints) {
    out.add(Rule::kFcOwnerAccess);
    // The call copies nothing, or an importer need not know the owner.
    if (op.size == 0 || endpoint->imported) out.loose = true;
  }
  bool bound = true;
  for (std::uint64_t i = 0; i < op.size && bound; ++i) {
    for (const int device : object.added) {
      const auto covers = [&](const EndpointState::Binding& b) {
        return b.live && b.device == device && b.covers(side.offset + i);
      };
      const auto found = std::find_if(object.bindings.begin(), object.bindings.end(), covers);
      if (found == object.bindings.end()) {
        bound = false;
      } else if (ended(*found)) {
        out.loose = true;
      }
    }
  }
  // A team that lacks devices is not ready, which another rule reports.
  if (!bound || (op.size && object.added.empty())) out.add(Rule::kFcEndpointBound);
}

bool Reference::judge_fabric_pointer(Judgement& out, std::uint64_t at, std::uint64_t size,
                                     bool write, Actor actor) const {
  bool local = true;
  if (size != 0) judge_touch(out, at, size, write, false, actor, ByCpu::kNever);
  if (out.ended_memory)
    out.foreign = true;  // the rules about ended memory cover only copies and fills
  for (std::uint64_t i = 0; i < size; ++i) {
    const Cell* cell = mapped_at(at + i);
    if (cell && team_at(*cell)) out.loose = true;
    const PlainMemory* plain = plain_.at(at + i);
    if (!cell && !plain) continue;
    const CUmemAllocationProp& prop =
        plain ? memories_[static_cast<std::size_t>(plain->memory)].prop : prop_of(*cell);
    const int type = static_cast<int>(prop.location.type);
    if (type == 1 && prop.location.id != actor.device) local = false;
    // The device of memory that another process or another call allocated may be unknown.
    if (plain && plain->kind != PlainMemory::Kind::kAlloc &&
        plain->kind != PlainMemory::Kind::kPool) {
      out.loose = true;
    }
  }
  return local;
}

void Reference::judge_fabric(Judgement& out, const Copy& op, Actor actor) const {
  for (const CUfabricCpyOperand& side : {op.src, op.dst}) {
    if (type_of(side) != kByPointer && !is_endpoint(side)) out.add(Rule::kFcOperandType);
  }
  if (op.flags) out.add(Rule::kFcOpFlagsZero);
  if (is_endpoint(op.src) && is_endpoint(op.dst)) out.add(Rule::kFcOneEndpoint);
  int pointers = 0;
  bool local = false;
  for (const bool write : {false, true}) {
    const CUfabricCpyOperand& side = write ? op.dst : op.src;
    if (is_endpoint(side)) {
      judge_fabric_endpoint(out, op, write, actor);
    } else if (actor.device >= 0) {
      ++pointers;
      local = judge_fabric_pointer(out, side.op.ptr.ptr, op.size, write, actor) || local;
    }
  }
  if (pointers && !local) out.add(Rule::kFcLocal);
}

Judgement Reference::judge(const calls::FabricCpyBatchAsync& call, Actor actor) const {
  Judgement out;
  if (call.flags) out.add(Rule::kFcFlagsZero);
  if (reinterpret_cast<std::uintptr_t>(call.hStream) < 2) out.add(Rule::kFcStream);
  if (actor.device < 0) out.add(Rule::kDataContext);
  if (call.numOps != 0 && !call.opList) out.add(Rule::kFcListNonnull);
  for (std::size_t i = 0; call.opList && i < call.numOps; ++i) {
    const Copy& op = call.opList[i];
    judge_fabric(out, op, actor);
    if (op.size == 0 && out.count == 0) out.loose = true;
    for (std::size_t j = 0; j < call.numOps; ++j) {
      const Copy& other = call.opList[j];
      if (i != j && (meet(op.dst, op.size, other.dst, other.size) ||
                     meet(op.dst, op.size, other.src, other.size))) {
        out.add(Rule::kFcIndependent);
      }
    }
  }
  return out;
}

// Copies byte by byte, because each copy is short.
void Reference::copy(const Copy& op) {
  struct Byte {
    int memory;
    std::uint64_t at;
    bool sure;
  };
  const auto places = [&](const CUfabricCpyOperand& side, std::uint64_t i) {
    std::vector<Byte> out;
    if (!is_endpoint(side)) {
      const std::uint64_t at = side.op.ptr.ptr + i;
      const Spot here = spot(at);
      if (here.memory >= 0 && !is_team(here.memory)) {
        out.push_back({here.memory, here.offset, !ambiguous(at)});
      }
      return out;
    }
    const Endpoint* endpoint = endpoints_.find(side.op.le.id);
    if (!endpoint) return out;
    const EndpointState::Object& object = object_of(*endpoint);
    for (const EndpointState::Binding& b : object.bindings) {
      if (!b.covers(side.op.le.offset + i) || (!b.live && !object.vague)) continue;
      out.push_back({b.memory, b.memory_offset + (side.op.le.offset + i - b.offset),
                     !object.vague && !ended(b)});
    }
    return out;
  };
  // Where both sides share memory, the driver chooses the order of the bytes.
  bool shared = false;
  for (std::uint64_t i = 0; i < op.size; ++i) {
    for (const Byte& from : places(op.src, i)) {
      for (const Byte& to : places(op.dst, i)) shared = shared || from.memory == to.memory;
    }
  }
  std::vector<int> bytes;
  for (std::uint64_t i = 0; i < op.size; ++i) {
    const auto from = places(op.src, i);
    const bool one = from.size() == 1 && from.front().sure && !shared;
    bytes.push_back(one ? byte_in(from.front().memory, from.front().at) : -1);
  }
  for (std::uint64_t i = 0; i < op.size; ++i) {
    const int byte = bytes[i];
    for (const Byte& to : places(op.dst, i)) {
      memories_[static_cast<std::size_t>(to.memory)].writes.push_back(
          {to.at, {static_cast<unsigned char>(byte < 0 ? 0 : byte)}, byte >= 0 && to.sure});
    }
  }
}

const char* Reference::accept(const calls::FabricCpyBatchAsync& call) {
  for (std::size_t i = 0; call.opList && i < call.numOps; ++i) copy(call.opList[i]);
  return nullptr;
}

}  // namespace cuvmm::fuzz
