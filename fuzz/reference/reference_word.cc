// SPDX-License-Identifier: Apache-2.0
// The reference's opinion of stream memory operations: rulebook/rules/stream_memory.def, and from
// data.def the access that a device needs for a word.
#include "fuzz/reference/reference.h"

namespace cuvmm::fuzz {

namespace {

// CUstreamBatchMemOpType by its numbers.
constexpr int kWaitShort = 1, kWriteShort = 2, kFlushWrites = 3, kWaitLong = 4, kWriteLong = 5;

bool writes(int operation) { return operation == kWriteShort || operation == kWriteLong; }
bool waits(int operation) { return operation == kWaitShort || operation == kWaitLong; }
unsigned bytes_of(int operation) {
  return operation == kWaitLong || operation == kWriteLong ? 8 : 4;
}

}  // namespace

void Reference::judge_word(Judgement& out, std::uint64_t at, unsigned bytes, bool write,
                           Actor actor) const {
  if (at % bytes != 0) {
    out.add(Rule::kStreamMemAligned);
    if (at % kGranule + bytes > kGranule) out.loose = true;  // the word may lie in two mappings
  }
  judge_context(out, at, bytes, actor);
  if (actor.device < 0) return;
  if (const PlainMemory* plain = plain_.at(at)) {
    using Kind = PlainMemory::Kind;
    const auto& prop = memories_[static_cast<std::size_t>(plain->memory)].prop;
    const bool here = static_cast<int>(prop.location.type) == 1 && prop.location.id == actor.device;
    const bool own = plain->kind == Kind::kAlloc || plain->kind == Kind::kPool;
    if (plain->kind == Kind::kPool || plain->kind == Kind::kTaken) out.add(Rule::kStreamMemPool);
    // The rules about such memory cover only copies and fills.
    if (!here || !own) {
      out.loose = true;
      judge_plain(out, *plain);
      return;
    }
  }
  judge_touch(out, at, bytes, write, false, actor, ByCpu::kNever);
  if (out.ended_memory)
    out.foreign = true;  // the rules about ended memory cover only copies and fills
  // A driver that lets a device write to memory it may only read still refuses memory without
  // access.
  Judgement read;
  judge_touch(read, at, bytes, false, false, actor, ByCpu::kNever);
  if (write && read.breaks(Rule::kDataReadable)) out.may_refuse = true;
  const Cell* cell = mapped_at(at);
  if (cell && team_at(*cell)) out.loose = true;
}

void Reference::write_word(const Judgement& judged, std::uint64_t at, std::uint64_t value,
                           unsigned bytes) {
  unsigned char word[8];
  for (unsigned i = 0; i < bytes; ++i) word[i] = static_cast<unsigned char>(value >> 8 * i);
  // No document says the effect where a driver accepts a broken rule.
  const bool sure = judged.count == 0 && !judged.loose && !judged.foreign;
  store(at, word, bytes, sure);
}

Judgement Reference::judge(const calls::StreamWriteValue32& call, Actor actor) const {
  Judgement out;
  judge_word(out, call.addr, 4, true, actor);
  if (call.flags)
    out.loose = true;  // no rule covers the flag without a memory barrier, or unknown flags
  return out;
}
Judgement Reference::judge(const calls::StreamWriteValue64& call, Actor actor) const {
  Judgement out;
  judge_word(out, call.addr, 8, true, actor);
  if (call.flags) out.loose = true;
  return out;
}

const char* Reference::accept(const calls::StreamWriteValue32& call, Actor actor) {
  write_word(judge(call, actor), call.addr, call.value, 4);
  return nullptr;
}
const char* Reference::accept(const calls::StreamWriteValue64& call, Actor actor) {
  write_word(judge(call, actor), call.addr, call.value, 8);
  return nullptr;
}

Judgement Reference::judge(const calls::StreamBatchMemOp& call, Actor actor) const {
  Judgement out;
  if (call.flags) out.add(Rule::kStreamMemFlags);
  if (call.count >= 256) out.add(Rule::kStreamMemCount);
  if (call.count && !call.paramArray) out.add(Rule::kStreamMemArray);
  // No rule covers a call without words.
  if (actor.device < 0) call.count ? out.add(Rule::kDataContext) : void(out.loose = true);
  for (unsigned i = 0; call.paramArray && i < call.count && i < 256; ++i) {
    const CUstreamBatchMemOpParams& one = call.paramArray[i];
    const int operation = static_cast<int>(one.operation);
    if (operation == kFlushWrites) {
      if (one.flushRemoteWrites.flags) out.add(Rule::kStreamMemFlags);
      if (!call.flags) out.add(Quirk::kNoFlush);
    } else if (writes(operation) || waits(operation)) {
      judge_word(out, one.waitValue.address, bytes_of(operation), writes(operation), actor);
    } else {
      out.loose = true;
    }
  }
  return out;
}

const char* Reference::accept(const calls::StreamBatchMemOp& call, Actor actor) {
  const Judgement judged = judge(call, actor);
  for (unsigned i = 0; call.paramArray && i < call.count; ++i) {
    const CUstreamBatchMemOpParams& one = call.paramArray[i];
    const int operation = static_cast<int>(one.operation);
    if (!writes(operation)) continue;
    write_word(judged, one.writeValue.address, one.writeValue.value64, bytes_of(operation));
  }
  return nullptr;
}

}  // namespace cuvmm::fuzz
