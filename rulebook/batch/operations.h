// SPDX-License-Identifier: Apache-2.0
// Calls of any number of operations, each of which touches a few ranges: batches of copies, of
// stream memory operations, of decompressions. Each operation is checked as a copy of its own would
// be.
#pragma once

#include <cstddef>
#include <string>

#include "rulebook/check/check.h"
#include "rulebook/check/touch.h"

namespace cuvmm {

#define CUVMM_CALLS_OF_OPERATIONS(X) \
  X(MemcpyBatchAsync)                \
  X(MemcpyBatchAsync_v2)             \
  X(Memcpy3DBatchAsync)              \
  X(Memcpy3DBatchAsync_v2)           \
  X(MemcpyWithAttributesAsync)       \
  X(Memcpy3DWithAttributesAsync)     \
  X(MemBatchDecompressAsync)         \
  X(StreamWaitValue32)               \
  X(StreamWaitValue64)               \
  X(StreamWriteValue32)              \
  X(StreamWriteValue64)              \
  X(StreamBatchMemOp)

/// One operation of a call.
struct Operation {
  static constexpr std::size_t kMostTouches = 3;
  Touch list[kMostTouches];
  std::size_t count = 0;
};

/// cuStreamBatchMemOp takes fewer than these: the documentation.
inline constexpr unsigned kMostStreamMemOps = 256;

/// How many operations the call has that can be looked at: 0 where an array is missing, or longer
/// than a driver looks.
#define CUVMM_OPERATIONS(Name) std::size_t operations(const calls::Name& call);
/// What one of them touches.
#define CUVMM_OPERATION(Name) Operation operation(const calls::Name& call, std::size_t i);
/// What is wrong with the call whatever memory is behind its addresses. Of facts, it reads
/// per_thread alone.
#define CUVMM_ARGUMENTS(Name) Violations check_arguments(const calls::Name&, const Facts&);
CUVMM_CALLS_OF_OPERATIONS(CUVMM_OPERATIONS)
CUVMM_CALLS_OF_OPERATIONS(CUVMM_OPERATION)
CUVMM_CALLS_OF_OPERATIONS(CUVMM_ARGUMENTS)
#undef CUVMM_OPERATIONS
#undef CUVMM_OPERATION
#undef CUVMM_ARGUMENTS

/// "copy 3: ", "operation 3: ": what a message about one of several begins with.
template <class CallStruct>
std::string operation_name(const CallStruct&, std::size_t i) {
  constexpr bool kSeveral = requires(const CallStruct& c) { c.count; }
  || requires(const CallStruct& c) { c.numOps; };
  constexpr bool kCopies = requires(const CallStruct& c) { c.hStream; };
  return kSeveral ? (kCopies ? "copy " : "operation ") + std::to_string(i) + ": " : std::string();
}

template <class CallStruct>
inline constexpr bool kOfOperations = requires(const CallStruct& call) {
  operations(call);
};

}  // namespace cuvmm
