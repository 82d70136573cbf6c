// SPDX-License-Identifier: Apache-2.0
// Stream memory operations: a stream reads or writes a word.
#include "rulebook/batch/check_operations.h"

namespace cuvmm {
using namespace detail;

namespace {

// The mistakes in one operation's own fields.
void check_operation(Collector& out, const CUstreamBatchMemOpParams& one,
                     const std::string& where) {
  const int operation = static_cast<int>(one.operation);
  if (operation == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES && one.flushRemoteWrites.flags != 0) {
    out.add(Rule::kStreamMemFlags,
            where + "flags of the flush are " + hex_text(one.flushRemoteWrites.flags) + ", not 0");
  }
  if (operation != kStreamMemOpAtomicReduction) return;
  const StreamAtomicReduction& reduction = reduction_of(one);
  if (reduction.flags != 0) {
    out.add(Rule::kStreamMemFlags,
            where + "flags of the reduction are " + hex_text(reduction.flags) + ", not 0");
  }
  const unsigned op = reduction.reduction;
  if (op != kReductionAdd && op != kReductionAnd && op != kReductionOr) {
    out.add(Rule::kStreamMemReduction,
            where + "reductionOp is " + std::to_string(op) + ", not ADD (0), AND (5) or OR (6)");
  }
  const unsigned type = reduction.data_type;
  if (type != kReduction32 && type != kReduction64) {
    out.add(Rule::kStreamMemReduction, where + "dataType is " + std::to_string(type) +
                                           ", not UNSIGNED_32 (14) or UNSIGNED_64 (22)");
  }
}

// Checks the words themselves, also if other things are wrong.
template <class CallStruct>
Violations check_words(const Model& model, const CallStruct& call, const Facts& facts) {
  Violations all = check_operations(model, call, facts);
  if (facts.initialized == Facts::Answer::kNo) return all;
  Collector out;
  const std::size_t count = operations(call);
  for (std::size_t i = 0; i < count && all.size() + out.size() < kMostFound; ++i) {
    const Operation one = operation(call, i);
    if (one.count == 0) continue;
    const Touch& word = one.list[0];
    if (word.base % word.width != 0) {
      out.add(Rule::kStreamMemAligned, operation_name(call, i) + word.parameter + ": " +
                                           hex_text(word.base) + " is not a multiple of " +
                                           std::to_string(word.width));
    }
    const PlainMemory* plain = model.memory().at(word.base);
    if (plain && plain->kind == PlainMemory::Kind::kManaged) {
      out.add(Rule::kStreamMemManaged, operation_name(call, i) + word.parameter + ": " +
                                           hex_text(word.base) + " is " + words(plain->kind))
          .objects.push_back(ref(*plain));
    }
    const PoolMemory* m = model.pools().memory_at(word.base);
    if (!m) continue;
    const Pool* pool = model.pools().find(m->pool);
    const bool managed = pool && pool->managed;
    // Only one driver was asked, so a violation is certain of the emulator, and else the likely
    // cause of a refusal.
    Violation& v = out.add(managed ? Rule::kStreamMemManaged : Rule::kStreamMemPool,
                           operation_name(call, i) + word.parameter + ": " + hex_text(word.base) +
                               " is memory of a pool" + (managed ? " of managed memory" : ""),
                           managed || model.platform().complete);
    v.objects.push_back(ref(*m));
    if (pool) v.objects.push_back(ref(*pool));
  }
  all.append(out.take());
  return all;
}

}  // namespace

Violations check_arguments(const calls::StreamWaitValue32&, const Facts&) { return {}; }
Violations check_arguments(const calls::StreamWaitValue64&, const Facts&) { return {}; }
Violations check_arguments(const calls::StreamWriteValue32&, const Facts&) { return {}; }
Violations check_arguments(const calls::StreamWriteValue64&, const Facts&) { return {}; }

Violations check_arguments(const calls::StreamBatchMemOp& call, const Facts&) {
  Collector out;
  if (call.flags != 0) {
    out.add(Rule::kStreamMemFlags, "flags is " + hex_text(call.flags) + ", not 0");
  }
  if (call.count >= kMostStreamMemOps) {
    out.add(Rule::kStreamMemCount, "count is " + std::to_string(call.count) + ", not below " +
                                       std::to_string(kMostStreamMemOps));
    return out.take();
  }
  if (!call.paramArray) {
    if (call.count != 0) out.add(Rule::kStreamMemArray, "paramArray is NULL");
    return out.take();
  }
  for (std::size_t i = 0; i < call.count && out.size() < kMostFound; ++i) {
    check_operation(out, call.paramArray[i], operation_name(call, i));
  }
  return out.take();
}

#define CUVMM_CHECK(Name)                                                             \
  Violations check(const Model& model, const calls::Name& call, const Facts& facts) { \
    return check_words(model, call, facts);                                           \
  }
CUVMM_CHECK(StreamWaitValue32)
CUVMM_CHECK(StreamWaitValue64)
CUVMM_CHECK(StreamWriteValue32)
CUVMM_CHECK(StreamWriteValue64)
CUVMM_CHECK(StreamBatchMemOp)
#undef CUVMM_CHECK

}  // namespace cuvmm
