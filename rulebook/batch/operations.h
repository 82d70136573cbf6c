// SPDX-License-Identifier: Apache-2.0
// Calls with any number of operations, each of which touches a few ranges: batches of copies, of
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

/// The documentation says that cuStreamBatchMemOp takes fewer than these.
inline constexpr unsigned kMostStreamMemOps = 256;

/// How many operations of the call can be read: 0 where an array is missing, or longer than a
/// driver accepts.
#define CUVMM_OPERATIONS(Name) std::size_t operations(const calls::Name& call);
/// The ranges that operation `i` touches.
#define CUVMM_OPERATION(Name) Operation operation(const calls::Name& call, std::size_t i);
/// The mistakes of the call that do not depend on the memory behind its addresses. Reads only
/// per_thread of the facts.
#define CUVMM_ARGUMENTS(Name) Violations check_arguments(const calls::Name&, const Facts&);
CUVMM_CALLS_OF_OPERATIONS(CUVMM_OPERATIONS)
CUVMM_CALLS_OF_OPERATIONS(CUVMM_OPERATION)
CUVMM_CALLS_OF_OPERATIONS(CUVMM_ARGUMENTS)
#undef CUVMM_OPERATIONS
#undef CUVMM_OPERATION
#undef CUVMM_ARGUMENTS

/// "copy 3: ", "operation 3: ": the beginning of a message about one of several operations.
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
