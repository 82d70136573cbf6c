// SPDX-License-Identifier: Apache-2.0
// Stream memory operations: a stream reads or writes a word.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include "emulator/core/quirks.h"
#include "emulator/core/work.h"
#include "emulator/transfer/captured_operations.h"
#include "emulator/transfer/operations_entry.h"
#include "emulator/transfer/transfer_entry.h"
#include "rulebook/batch/operations.h"

namespace cuvmm::emulator {

namespace {

// The memory behind a word; null where the word has none.
char* memory_at(Emulator& e, Address address, Size bytes) {
  Size run = bytes;
  Size offset = 0;
  if (e.team_at(address, &run, &offset)) return nullptr;
  run = bytes;
  char* memory = e.resolve(address, &run);
  return memory && run >= bytes ? memory : nullptr;
}

// Checks a word that no mapping holds: it must lie in an allocation or in page-locked memory.
CUresult check_word(const Emulator& e, const Touch& word) { return check_unmapped(e, word, false); }

template <class Word>
bool satisfied(Word now, Word value, unsigned flags) {
  switch (flags & 3u) {
    case CU_STREAM_WAIT_VALUE_EQ:
      return now == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (now & value) != 0;
    case CU_STREAM_WAIT_VALUE_NOR:
      return static_cast<Word>(~(now | value)) != 0;
    default:
      return static_cast<std::make_signed_t<Word>>(now - value) >= 0;
  }
}

// Another thread of the program may write the word, or wait for it, at the same time.
template <class Word>
bool aligned(const char* memory) {
  return reinterpret_cast<std::uintptr_t>(memory) % std::atomic_ref<Word>::required_alignment == 0;
}
template <class Word>
Word load(const char* memory) {
  // std::atomic_ref has no form for a const object in C++20.
  auto* const word = reinterpret_cast<Word*>(const_cast<char*>(memory));
  if (aligned<Word>(memory)) return std::atomic_ref<Word>(*word).load();
  Word now;
  std::memcpy(&now, memory, sizeof now);
  return now;
}
template <class Word>
void store(char* memory, Word value) {
  if (aligned<Word>(memory)) {
    std::atomic_ref<Word>(*reinterpret_cast<Word*>(memory)).store(value);
  } else {
    std::memcpy(memory, &value, sizeof value);
  }
}

// NOT_READY where the word does not satisfy the wait yet.
template <class Word>
CUresult wait(Emulator& e, Address address, Word value, unsigned flags) {
  const char* memory = memory_at(e, address, sizeof(Word));
  if (!memory) return CUDA_ERROR_INVALID_VALUE;
  if (satisfied(load<Word>(memory), value, flags)) return CUDA_SUCCESS;
  e.queues.waits_for({.word = address});
  return CUDA_ERROR_NOT_READY;
}

template <class Word>
CUresult write(Emulator& e, Address address, Word value) {
  char* memory = memory_at(e, address, sizeof value);
  if (!memory) return CUDA_ERROR_INVALID_VALUE;
  store(memory, value);
  return CUDA_SUCCESS;
}

template <class Word>
CUresult reduce(Emulator& e, const StreamAtomicReduction& reduction) {
  char* memory = memory_at(e, reduction.address, sizeof(Word));
  if (!memory) return CUDA_ERROR_INVALID_VALUE;
  Word now = load<Word>(memory);
  const Word value = static_cast<Word>(reduction.value);
  switch (reduction.reduction) {
    case kReductionAdd:
      now += value;
      break;
    case kReductionAnd:
      now &= value;
      break;
    case kReductionOr:
      now |= value;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  store(memory, now);
  return CUDA_SUCCESS;
}

// Checks all words first, because a call that is refused performs no operation.
template <class CallStruct>
CUresult check_words(const Emulator& e, const CallStruct& call) {
  const std::size_t count = operations(call);
  for (std::size_t i = 0; i < count; ++i) {
    const Operation one = operation(call, i);
    if (one.count == 0) continue;
    const CUresult result = check_word(e, one.list[0]);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult run(Emulator& e, const CUstreamBatchMemOpParams& one) {
  switch (static_cast<int>(one.operation)) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      return wait<std::uint32_t>(e, one.waitValue.address, one.waitValue.value,
                                 one.waitValue.flags);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return wait<std::uint64_t>(e, one.waitValue.address, one.waitValue.value64,
                                 one.waitValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return write<std::uint32_t>(e, one.writeValue.address, one.writeValue.value);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return write<std::uint64_t>(e, one.writeValue.address, one.writeValue.value64);
    case CU_STREAM_MEM_OP_BARRIER:
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
      return CUDA_SUCCESS;
    case kStreamMemOpAtomicReduction: {
      const StreamAtomicReduction& reduction = reduction_of(one);
      return reduction.data_type == kReduction64 ? reduce<std::uint64_t>(e, reduction)
                                                 : reduce<std::uint32_t>(e, reduction);
    }
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

template <class CallStruct>
std::optional<CUresult> unknown_stream(const Emulator& e, const CallStruct& call) {
  Facts::Place place;
  const Context* by = nullptr;
  const CUresult result = use_stream(e, call.stream, place, by);
  return result == CUDA_SUCCESS ? std::nullopt : std::optional(result);
}

// A driver that writes to memory which the device may only read (recorded) still does not write to
// memory that the device may not touch.
template <class CallStruct>
std::optional<CUresult> untouchable(const Emulator& e, const CallStruct& call, const Facts& facts) {
  const Verdict& verdict = e.profile.verdict(CallStruct::kEntryPoint, Rule::kDataWritable);
  const Mapping* mapping = e.model.mapping_at(call.addr);
  if (verdict.kind != Verdict::Kind::kAccepts || !mapping) return std::nullopt;
  const int device = facts.place.device;
  const bool readable = device < 0 || device >= 62 || (mapping->access.read >> device & 1) != 0;
  return readable ? std::nullopt : std::optional(CUDA_ERROR_INVALID_VALUE);
}

template <class CallStruct>
std::optional<CUresult> odd(const Emulator& e, const CallStruct& call, const Facts& facts) {
  if (const auto unknown = unknown_stream(e, call)) return unknown;
  if constexpr (std::is_same_v<CallStruct, calls::StreamWriteValue32> ||
                std::is_same_v<CallStruct, calls::StreamWriteValue64>) {
    if (const auto refused = answer(e, Quirk::kWriteNoFlags, call.flags != 0)) return refused;
    if (const auto refused = untouchable(e, call, facts)) return refused;
  }
  // A graph's memory comes from a pool, which the rule about pools cannot see (an H100).
  const PlainAllocation* const plain = e.plain.at(call.addr);
  return plain && plain->of_graph ? std::optional(CUDA_ERROR_INVALID_VALUE) : std::nullopt;
}

std::optional<CUresult> odd(const Emulator& e, const calls::StreamBatchMemOp& call, const Facts&) {
  if (const auto unknown = unknown_stream(e, call)) return unknown;
  const bool read = call.flags == 0 && call.paramArray && call.count < kMostStreamMemOps;
  const bool flush =
      read && std::any_of(call.paramArray, call.paramArray + call.count, [](const auto& one) {
        return one.operation == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
      });
  return answer(e, Quirk::kNoFlush, flush);
}

}  // namespace

#define CUVMM_ON_STREAM(Name)                                                                     \
  void add_facts(const Emulator& e, const calls::Name& call, Facts& facts) {                      \
    const Context* by = nullptr;                                                                  \
    use_stream(e, call.stream, facts.place, by);                                                  \
  }                                                                                               \
  std::optional<CUresult> quirk(const Emulator& e, const calls::Name& call, const Facts& facts) { \
    return odd(e, call, facts);                                                                   \
  }
CUVMM_ON_STREAM(StreamWaitValue32)
CUVMM_ON_STREAM(StreamWaitValue64)
CUVMM_ON_STREAM(StreamWriteValue32)
CUVMM_ON_STREAM(StreamWriteValue64)
CUVMM_ON_STREAM(StreamBatchMemOp)
#undef CUVMM_ON_STREAM

namespace {

CUresult run(Emulator& e, const calls::StreamWaitValue32& call, std::size_t&) {
  return wait<std::uint32_t>(e, call.addr, call.value, call.flags);
}
CUresult run(Emulator& e, const calls::StreamWaitValue64& call, std::size_t&) {
  return wait<std::uint64_t>(e, call.addr, call.value, call.flags);
}
CUresult run(Emulator& e, const calls::StreamWriteValue32& call, std::size_t&) {
  return write<std::uint32_t>(e, call.addr, call.value);
}
CUresult run(Emulator& e, const calls::StreamWriteValue64& call, std::size_t&) {
  return write<std::uint64_t>(e, call.addr, call.value);
}
// `next`: the operation to continue with, because a wait among the operations may have stopped the
// call.
CUresult run(Emulator& e, const calls::StreamBatchMemOp& call, std::size_t& next) {
  for (; next < operations(call); ++next) {
    const CUresult result = run(e, call.paramArray[next]);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

// Checks again, when the stream reaches the operation, that the words exist and that the device may
// use them.
template <class CallStruct>
CUresult check_again(const Emulator& e, const CallStruct& call, const Facts& facts) {
  const Violations found = check(e.model, call, facts);
  const bool refused =
      !found.empty() && e.profile.answer(CallStruct::kEntryPoint, found) != CUDA_SUCCESS;
  return refused ? CUDA_ERROR_ILLEGAL_ADDRESS : check_words(e, call);
}

template <class CallStruct>
CUresult give(Emulator& e, const CallStruct& call, const Facts& facts) {
  const CUresult wrong = check_words(e, call);
  if (wrong != CUDA_SUCCESS) return wrong;
  std::size_t first = 0;
  std::size_t* const resumed = resumed_operation();
  std::size_t& next = resumed ? *resumed : first;
  if (!Queues::late() || Queues::inside()) {
    const CUresult result = run(e, call, next);
    if (result != CUDA_ERROR_NOT_READY || Queues::inside()) return result;
  }
  const auto stored = std::make_shared<detail::StoredCall<CallStruct>>(call);
  return submit(e, call.stream, [stored, facts, next](Emulator& at) mutable -> CUresult {
    const CUresult refusal = check_again(at, stored->call(), facts);
    return refusal == CUDA_SUCCESS ? run(at, stored->call(), next) : refusal;
  });
}

}  // namespace

#define CUVMM_PERFORMED(Name)                                                                  \
  CUresult perform(Emulator& e, const calls::Name& call, const Facts& facts, const Retired&) { \
    return give(e, call, facts);                                                               \
  }
CUVMM_PERFORMED(StreamWaitValue32)
CUVMM_PERFORMED(StreamWaitValue64)
CUVMM_PERFORMED(StreamWriteValue32)
CUVMM_PERFORMED(StreamWriteValue64)
CUVMM_PERFORMED(StreamBatchMemOp)
#undef CUVMM_PERFORMED

}  // namespace cuvmm::emulator
