// SPDX-License-Identifier: Apache-2.0
// Copies and fills: only the bytes that touches() names are checked. Every other entry point has a
// check() of its own. shim/intercept/every_entry_test.cc makes sure that each has one of the two.
#pragma once

#include <type_traits>

#include "api/area.h"
#include "rulebook/batch/operations.h"
#include "rulebook/check.h"
#include "shim/policy/policy.h"

namespace cuvmm::shim {

template <class CallStruct>
inline constexpr bool kTouches = area_of(CallStruct::kEntryPoint) == "data" &&
                                 !checked_by_itself<CallStruct>;

template <class CallStruct>
requires kTouches<CallStruct>
struct Policy<CallStruct> {
  using Kept = Touched;
};

/// Any number of copies, or of their like, in one call.
template <class CallStruct>
inline constexpr bool kBatch = kOfOperations<CallStruct>;

/// Where nothing near a reservation is touched, what the model knows of it is asked for all the
/// same: pools are no reservations.
template <class CallStruct>
inline constexpr bool kAsksAnyway = area_of(CallStruct::kEntryPoint) == "stream_memory" ||
                                    std::is_same_v<CallStruct, calls::MemBatchDecompressAsync>;

/// The stream of a parameter called `hStream` or `stream`; the default one where there is none.
template <class CallStruct>
CUstream stream_of([[maybe_unused]] const CallStruct& call) {
  if constexpr (requires { call.hStream; }) {
    return call.hStream;
  } else if constexpr (requires { call.stream; }) {
    return call.stream;
  } else {
    return nullptr;
  }
}

}  // namespace cuvmm::shim
