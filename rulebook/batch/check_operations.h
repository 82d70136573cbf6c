// SPDX-License-Identifier: Apache-2.0
// Functions that several checks of batches use.
#pragma once

#include <string>

#include "rulebook/batch/operations.h"
#include "rulebook/check/check_support.h"

namespace cuvmm::detail {

/// A batch may have any length, so the checks stop after this many violations.
inline constexpr std::size_t kMostFound = 16;

/// Checks the arguments, then each operation as if it were a copy of its own.
template <class CallStruct>
Violations check_operations(const Model& model, const CallStruct& call, const Facts& facts) {
  // A mistake that does not depend on the touched memory is reported once.
  Violations all = check_touches(model, CallStruct::kEntryPoint, nullptr, 0, facts);
  if (!all.empty()) return all;
  all.append(check_arguments(call, facts));
  const std::size_t count = operations(call);
  for (std::size_t i = 0; i < count && all.size() < kMostFound; ++i) {
    const Operation one = operation(call, i);
    Violations found = check_touches(model, CallStruct::kEntryPoint, one.list, one.count, facts);
    for (Violation& v : found) v.message = operation_name(call, i) + v.message;
    all.append(found);
  }
  return all;
}

/// Checks the indices of a batch whose parts each apply from one operation on: the first part must
/// begin at the first operation, and the others must ascend.
void check_indices(Collector& out, const char* parameter, const void* parts,
                   const std::size_t* first, std::size_t number, std::size_t count);

/// Checks that the stream is not the legacy default stream.
void check_batch_stream(Collector& out, CUstream stream, const Facts& facts);

void check_batch_flags(Collector& out, unsigned long long flags);

}  // namespace cuvmm::detail
